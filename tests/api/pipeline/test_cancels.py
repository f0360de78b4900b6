"""Cancels that could not be broadcast when they happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from typing_extensions import override

from proctor_api.pipeline.cancels import Cancels
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.messages import RunCancelled, WorkerHeartbeat
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database, StoreUnavailable, Unit
from tests.support.platform import case, open_platform
from tests.support.until import until

OFTEN = 0.001


@dataclass
class Wire:
    """A bus by what a test says of it, and what was announced on it."""

    connected: bool = True
    connections: int = 1
    announced: list[RunCancelled] = field(default_factory=list)

    async def announce(self, message: RunCancelled) -> None:
        self.announced.append(message)


class Away(Database):
    """A database that can be away for readers."""

    away = False

    @override
    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Unit]:
        if self.away:
            raise StoreUnavailable("away")
        async with super().reading() as unit:
            yield unit


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Away]:
    database = Away(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    yield database
    await database.close()


@asynccontextmanager
async def telling(database: Database, wire: Wire) -> AsyncIterator[None]:
    cancels = Cancels(database=database, bus=wire, clock=lambda: datetime.now(UTC))
    task = asyncio.create_task(cancels.run(every_seconds=OFTEN))
    # It has looked at the bus before anything changes.
    await asyncio.sleep(0)
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def cancelled_run(database: Database) -> UUID:
    bus = InProcessBus()
    async with open_platform(database, bus, alone=True) as platform:
        platform.runner.holding = True
        run = await platform.start(case("А"))
        await platform.runner.holds(1)
        await platform.services.runs.cancel(platform.caller, run.id)
        await bus.stop(grace_seconds=0)
    return run.id


async def test_after_each_new_connection_every_worker_is_told_once(database: Away) -> None:
    run, wire = await cancelled_run(database), Wire()
    async with telling(database, wire):
        for count in (1, 2):
            wire.connections += 1
            await until(lambda count=count: len(wire.announced) == count)  # type: ignore[misc]  # bound now
    assert wire.announced == [RunCancelled(run_ids=(run,))] * 2


async def test_it_waits_for_the_connection_and_for_the_database(database: Away) -> None:
    run, wire = await cancelled_run(database), Wire(connected=False)
    database.away = True
    async with telling(database, wire):
        wire.connections += 1
        wire.connected = True
        assert await Cancels(database=database, bus=wire, clock=lambda: datetime.now(UTC)).tell() is False
        database.away = False
        await until(lambda: wire.announced == [RunCancelled(run_ids=(run,))])


async def test_a_starting_worker_is_answered_by_name(database: Away) -> None:
    run = await cancelled_run(database)
    bus = InProcessBus()
    async with open_platform(database, bus, alone=True) as platform:
        now = datetime.now(UTC)
        await bus.announce(
            WorkerHeartbeat(worker_id="w9", service="runner", concurrency=1, starting=True, at=now)
        )
        await until(lambda: platform.cancelled == [RunCancelled(run_ids=(run,), worker_id="w9")])
        await bus.stop(grace_seconds=0)
