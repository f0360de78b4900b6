"""Next times are counted anew: rules of zones change, and clocks are set right."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from proctor_scheduler import recounting
from proctor_scheduler.recounting import Recounting
from tests.scheduler.world import World
from tests.support.manual_clock import EPOCH

HOUR = timedelta(hours=1)


async def recount(world: World) -> int:
    return await Recounting(database=world.database, clock=world.clock).recount()


async def test_what_is_right_stays(world: World) -> None:
    schedule = await world.schedule()
    before = await world.row(schedule)
    assert await recount(world) == 0
    assert await world.row(schedule) == before


async def test_a_time_that_other_rules_gave_is_corrected_both_ways(world: World) -> None:
    early, late = await world.schedule(cron="0 5 * * *"), await world.schedule(cron="0 5 * * *")
    await world.change(early, next_run_at=EPOCH + 4 * HOUR)
    await world.change(late, next_run_at=EPOCH + 6 * HOUR)
    assert await recount(world) == 2
    for one in (early, late):
        row = await world.row(one)
        assert (row.next_run_at, row.counted_from) == (EPOCH + 5 * HOUR, EPOCH)


async def test_a_clock_that_was_a_year_ahead_costs_no_year(world: World) -> None:
    schedule = await world.schedule()
    world.pass_(days=365)
    await world.look()
    ahead = EPOCH + timedelta(days=365)
    assert [tick.planned_at for tick in await world.ticks(schedule)] == [ahead]
    world.pass_(days=-365)
    assert await recount(world) == 1
    row = await world.row(schedule)
    assert (row.counted_from, row.counted_local, row.next_run_at) == (EPOCH, None, EPOCH + HOUR)
    await world.ended(await world.started(schedule))
    world.pass_(hours=1)
    await world.look()
    assert [tick.planned_at for tick in await world.ticks(schedule)] == [EPOCH + HOUR, ahead]


async def test_what_is_off_or_cannot_be_read_is_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recounting, "PAGE", 2)
    wrong = EPOCH + 3 * HOUR
    off = await world.schedule(is_active=False, next_run_at=None)
    broken = await world.schedule(timezone="Mars/Phobos", next_run_at=wrong)
    all_: list[UUID] = [await world.schedule(next_run_at=wrong) for _ in range(5)]
    assert await recount(world) == 5
    assert (await world.row(off)).next_run_at is None
    assert (await world.row(broken)).next_run_at == wrong
    assert {(await world.row(one)).next_run_at for one in all_} == {EPOCH + HOUR}
