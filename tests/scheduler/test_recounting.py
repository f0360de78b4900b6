"""Next times are counted anew: rules of zones change, and clocks are set right."""

from __future__ import annotations

import struct
import zoneinfo
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from proctor_scheduler import recounting
from proctor_scheduler.recounting import Recounting
from proctor_schedules.zones import forget_zones
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


async def test_rules_that_change_under_a_running_scheduler_are_read(world: World, tmp_path: Path) -> None:
    path = zoneinfo.TZPATH
    zoneinfo.reset_tzpath([tmp_path, *path])
    try:
        write_zone(tmp_path / "Mars", hours=2)
        forget_zones()
        schedule = await world.schedule(cron="0 5 * * *", timezone="Mars", next_run_at=EPOCH + 3 * HOUR)
        assert await recount(world) == 0
        write_zone(tmp_path / "Mars", hours=1)
        assert await recount(world) == 1
        assert (await world.row(schedule)).next_run_at == EPOCH + 4 * HOUR
    finally:
        zoneinfo.reset_tzpath(path)
        forget_zones()


def write_zone(path: Path, *, hours: int) -> None:
    """Write the file of a zone that is always so far ahead of UTC."""
    head = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    path.write_bytes(head + struct.pack(">lBB", hours * 3600, 0, 0) + b"MST\0")


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
