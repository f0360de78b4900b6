"""The scheduler put together: it looks by its clock, is woken by completed runs, and survives every look."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.metrics import Meters
from proctor_contracts.enums import RunStatus
from proctor_contracts.ids import new_id
from proctor_contracts.messages import RunCompleted
from proctor_contracts.summary import RunSummary
from proctor_contracts.topology import SCHEDULER_RUNS
from proctor_scheduler.app import SchedulerService, create_scheduler
from proctor_scheduler.ticking import Ticking
from proctor_store.session import StoreUnavailable
from tests.scheduler.world import World
from tests.support.manual_clock import ManualClock


class Looks:
    """Counts the looks of a service; one whose number is in `failing` raises that instead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.thorough: list[bool] = []
        self.failing: dict[int, Exception] = {}
        self._changed = asyncio.Condition()
        really = Ticking.look

        async def look(ticking: Ticking, *, thorough: bool) -> int:
            try:
                if (fault := self.failing.get(len(self.thorough))) is not None:
                    raise fault
                return await really(ticking, thorough=thorough)
            finally:
                async with self._changed:
                    self.thorough.append(thorough)
                    self._changed.notify_all()

        monkeypatch.setattr(Ticking, "look", look)

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: len(self.thorough) >= count)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@asynccontextmanager
async def running(world: World) -> AsyncIterator[tuple[SchedulerService, InProcessBus, ManualClock]]:
    clock = world.clock
    assert isinstance(clock, ManualClock)
    bus = InProcessBus()
    service = create_scheduler(database=world.database, clock=clock, meters=Meters())
    await bus.start(listeners=service.listeners())
    await service.start()
    await bus.start(service.subscriptions())
    try:
        yield service, bus, clock
    finally:
        await bus.pause()
        await service.drain(seconds=1)
        await service.stop()
        await bus.stop(grace_seconds=1)


def completed(run_id: UUID, schedule_id: UUID) -> RunCompleted:
    return RunCompleted(
        run_id=run_id,
        account_id=new_id(),
        integration_id=new_id(),
        status=RunStatus.COMPLETED,
        schedule_id=schedule_id,
        completed_at=datetime.now(UTC),
        summary=RunSummary(),
    )


async def test_it_looks_every_second_and_at_what_waits_every_five(world: World, looks: Looks) -> None:
    schedule = await world.schedule()
    async with running(world) as (_, _, clock):
        await looks.reach(1)
        for number in range(2, 8):
            await clock.next()
            await looks.reach(number)
        assert looks.thorough == [True, False, False, False, False, True, False]
        clock.advance(3600)
        await clock.next()
        await looks.reach(8)
        assert await world.statuses(schedule) == ["fired"]


async def test_a_completed_run_frees_its_schedule_at_once(world: World, looks: Looks) -> None:
    schedule = await world.schedule()
    world.pass_(hours=1)
    await world.look()
    run = await world.started(schedule)
    world.pass_(hours=1)
    async with running(world) as (_, bus, _):
        await looks.reach(2)
        assert await world.statuses(schedule) == ["started", "waiting"]
        await world.ended(run)
        before = len(looks.thorough)
        await bus.publish(completed(run, schedule))
        await looks.reach(before + 1)
        assert looks.thorough[-1] is True
        assert await world.statuses(schedule) == ["started", "fired"]
        assert (await world.row(schedule)).last_run_status == "completed"
        depth = await bus.depth(SCHEDULER_RUNS.name)
        assert depth is not None
        assert depth.ready == 0


async def test_a_database_that_is_away_is_said_once_and_looked_for_again(
    world: World, looks: Looks, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    schedule = await world.schedule()
    world.pass_(hours=1)
    looks.failing = {0: StoreUnavailable("gone"), 1: StoreUnavailable("gone")}
    async with running(world) as (service, _, clock):
        await looks.reach(1)
        await clock.next()
        await looks.reach(2)
        await clock.next()  # the second fault is noted before the loop sleeps again
        assert service.problem() == "database_down" or len(looks.thorough) > 2
        await looks.reach(3)
        await clock.next()
        await looks.reach(4)
        assert service.problem() is None
    events = [record.getMessage() for record in caplog.records]
    assert (events.count("database_away"), events.count("database_back")) == (1, 1)
    assert await world.statuses(schedule) == ["fired"]


async def test_a_fault_of_ours_ends_one_look_and_not_the_loop(
    world: World, looks: Looks, caplog: pytest.LogCaptureFixture
) -> None:
    schedule = await world.schedule()
    world.pass_(hours=1)
    looks.failing = {0: RuntimeError("ours")}
    async with running(world) as (_, _, clock):
        await looks.reach(1)
        await clock.next()
        await looks.reach(2)
    assert "schedules_look_failed" in caplog.text
    assert await world.statuses(schedule) == ["fired"]


async def test_all_next_times_are_counted_anew_at_the_start_and_every_hour(
    world: World, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[Any] = []

    async def recount(_self: object) -> int:
        counts.append(world.clock.now())
        return 0

    monkeypatch.setattr("proctor_scheduler.recounting.Recounting.recount", recount)
    async with running(world) as (_, _, clock):
        await looks.reach(1)
        assert len(counts) == 1
        await clock.next()
        await looks.reach(2)
        assert len(counts) == 1
        await clock.next()
        await looks.reach(3)
        clock.advance(3600)
        await clock.next()
        await looks.reach(4)
        assert len(counts) == 2
