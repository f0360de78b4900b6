"""Jobs are not called lost while what an outage held back is still coming in."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from typing_extensions import override

from proctor_api.pipeline.sweeper import Sweeper
from proctor_api.pipeline.workers import SILENT_AFTER, Workers
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database, StoreUnavailable
from tests.support.manual_clock import EPOCH
from tests.support.platform import case, open_platform
from tests.support.until import until


class Time:
    def __init__(self) -> None:
        self.now = EPOCH
        self.connections = 1

    def workers(self) -> Workers:
        return Workers(clock=lambda: self.now, connections=lambda: self.connections)


def test_workers_get_time_to_be_heard_after_every_lost_connection() -> None:
    time = Time()
    workers = time.workers()
    time.now += SILENT_AFTER
    assert workers.listened_long_enough()
    time.connections += 1
    assert not workers.listened_long_enough()
    time.now += SILENT_AFTER - timedelta(seconds=1)
    assert not workers.listened_long_enough()
    time.now += timedelta(seconds=1)
    assert workers.listened_long_enough()


class SharedBus(InProcessBus):
    """A bus that was connected as often as a test says."""

    made = 1

    @property
    @override
    def connections(self) -> int:
        return self.made


async def test_the_sweeper_leaves_jobs_alone_right_after_the_broker_was_away(tmp_path: Path) -> None:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    bus = SharedBus()
    async with open_platform(database, bus, alone=False) as platform:
        platform.runner.holding = True
        await platform.start(case("А"))
        await platform.runner.holds(1)
        platform.time.ahead += timedelta(minutes=3)
        bus.made += 1
        assert await platform.pipeline.sweeper.sweep() == 0
        platform.time.ahead += SILENT_AFTER
        assert await platform.pipeline.sweeper.sweep() == 1
        await platform.runner.holds(2)
        await bus.stop(grace_seconds=0)
    await database.close()


async def test_a_database_that_was_away_makes_the_sweeper_listen_anew() -> None:
    time = Time()
    workers = time.workers()
    time.now += SILENT_AFTER
    tried = asyncio.Event()

    class Away(Sweeper):
        @override
        async def sweep(self) -> int:
            tried.set()
            raise StoreUnavailable("away")

    sweeper = Away(
        database=None,  # type: ignore[arg-type]  # never reached
        settler=None,  # type: ignore[arg-type]  # as above
        workers=workers,
        depth=None,  # type: ignore[arg-type]  # as above
        report=None,  # type: ignore[arg-type]  # as above
        clock=lambda: time.now,
        owner="me",
    )
    task = asyncio.create_task(sweeper.run(every_seconds=0.001))
    await until(tried.is_set)
    await until(lambda: not workers.listened_long_enough())
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
