"""Completed runs: how a schedule's last one ended, and a wake for what waited for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from proctor_chassis.bus import Meta, RetryLater
from proctor_chassis.outage import Outage
from proctor_contracts.enums import RunStatus
from proctor_contracts.ids import new_id
from proctor_contracts.messages import RunCompleted
from proctor_contracts.summary import RunSummary
from proctor_scheduler.handlers import Handlers
from proctor_store.session import Database, StoreUnavailable
from tests.scheduler.world import World

META = Meta(id="m", correlation="c", delivery=1)


def completed(run_id: UUID, schedule_id: UUID | None, status: RunStatus = RunStatus.FAILED) -> RunCompleted:
    return RunCompleted(
        run_id=run_id,
        account_id=new_id(),
        integration_id=new_id(),
        status=status,
        schedule_id=schedule_id,
        completed_at=datetime.now(UTC),
        summary=RunSummary(),
    )


class Freed:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def freed() -> Freed:
    return Freed()


@pytest.fixture
def handlers(world: World, freed: Freed) -> Handlers:
    return Handlers(database=world.database, outage=Outage("database", StoreUnavailable), freed=freed)


async def test_the_last_run_is_remembered_with_its_end(
    world: World, handlers: Handlers, freed: Freed
) -> None:
    schedule = await world.schedule()
    world.pass_(hours=1)
    await world.look()
    run = await world.started(schedule)
    assert (await world.row(schedule)).last_run_status is None
    for _ in range(2):
        await handlers.run_completed(completed(run, schedule), META)
    row = await world.row(schedule)
    assert (row.last_run_id, row.last_run_status) == (run, "failed")
    assert freed.times == 2


async def test_an_older_run_says_nothing_of_the_last(world: World, handlers: Handlers) -> None:
    schedule = await world.schedule()
    world.pass_(hours=1)
    await world.look()
    await world.started(schedule)
    await handlers.run_completed(completed(new_id(), schedule), META)
    assert (await world.row(schedule)).last_run_status is None


async def test_runs_of_no_schedule_wake_nobody(handlers: Handlers, freed: Freed) -> None:
    await handlers.run_completed(completed(new_id(), None), META)
    assert freed.times == 0


async def test_a_run_of_a_schedule_that_is_gone_is_no_fault(handlers: Handlers, freed: Freed) -> None:
    await handlers.run_completed(completed(new_id(), new_id()), META)
    assert freed.times == 1


async def test_while_the_database_is_away_the_message_comes_again(
    handlers: Handlers, freed: Freed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_self: Database) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(Database, "transaction", away)
    with pytest.raises(RetryLater):
        await handlers.run_completed(completed(new_id(), new_id()), META)
    assert freed.times == 0
