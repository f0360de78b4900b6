"""Ticks: fired once, put off while something is in the way, passed over, given up; none without a record."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from proctor_contracts.schedules import Waiting
from proctor_scheduler.planning import NOT_STARTED, PASSED_OVER, REASONS
from proctor_store.repositories import schedules
from tests.scheduler.world import World
from tests.support.manual_clock import EPOCH

HOUR = timedelta(hours=1)


async def test_a_schedule_fires_when_its_time_has_come(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    schedule = await world.schedule(zone="Europe/Kyiv")
    world.pass_(minutes=59, seconds=59)
    assert await world.look() == 0
    now = world.pass_(seconds=3)
    assert await world.look(thorough=False) == 1
    (tick,) = await world.ticks(schedule)
    assert (tick.planned_at, tick.planned_local) == (EPOCH + HOUR, "2026-01-01T03:00+02:00")
    assert (tick.status, tick.fires, tick.missed, tick.run_id, tick.reason) == ("fired", 1, 0, None, None)
    assert tick.fired_at == tick.asked_at == now
    row = await world.row(schedule)
    assert (row.counted_from, row.counted_local) == (tick.planned_at, tick.planned_local)
    assert (row.next_run_at, row.waiting_for) == (EPOCH + 2 * HOUR, None)
    (message,) = await world.messages()
    assert (message.schedule_id, message.tick_id, message.account_id) == (schedule, tick.id, row.account_id)
    assert (message.planned_at, message.fire) == (tick.planned_at, 0)
    assert world.woken == 1
    assert world.decided.values == {"fired": 1}
    assert world.lateness.last == 2
    (line,) = [record for record in caplog.records if record.getMessage() == "schedule.fired"]
    assert vars(line)["schedule"] == str(schedule)


async def test_looking_again_fires_nothing_again(world: World) -> None:
    schedule = await world.schedule()
    world.pass_(hours=1)
    assert [await world.look() for _ in range(3)] == [1, 0, 0]
    assert await world.statuses(schedule) == ["fired"]
    assert len(await world.messages()) == 1


@pytest.mark.parametrize("changed", [{"is_active": False}, {"next_run_at": None}])
async def test_what_is_off_or_has_no_next_time_never_fires(world: World, changed: dict[str, Any]) -> None:
    schedule = await world.schedule(**changed)
    world.pass_(days=2)
    assert await world.look() == 0
    assert await world.ticks(schedule) == []


async def test_twelve_hours_away_are_one_run(world: World) -> None:
    """C-09: of 48 missed times one is played, the rest is counted, and the next one lies ahead."""
    schedule = await world.schedule(cron="*/15 * * * *")
    now = world.pass_(hours=12, seconds=5)
    await world.look()
    (tick,) = await world.ticks(schedule)
    assert (tick.planned_at, tick.missed, tick.status) == (EPOCH + 12 * HOUR, 47, "fired")
    assert (await world.row(schedule)).next_run_at > now
    assert len(await world.messages()) == 1
    assert world.decided.values == {"fired": 1, "missed": 47}


async def test_an_edit_while_the_scheduler_was_away_counts_from_the_edit(world: World) -> None:
    """C-09: whoever changes the clock, or switches it on, sets where counting begins."""
    schedule = await world.schedule(cron="*/15 * * * *")
    now = world.pass_(hours=12, seconds=5)
    coming = now + timedelta(hours=7)
    await world.change(schedule, cron_expression="0 19 * * *", counted_from=now, next_run_at=coming)
    assert await world.look() == 0
    assert await world.ticks(schedule) == []


async def test_a_run_that_is_not_over_holds_up_the_next(world: World) -> None:
    schedule = await world.schedule()
    world.pass_(hours=1)
    await world.look()
    run = await world.started(schedule)
    world.pass_(hours=1)
    await world.look()
    _, waits = await world.ticks(schedule)
    assert (waits.status, waits.fires, waits.fired_at) == ("waiting", 0, None)
    assert waits.reason == REASONS[Waiting.PREVIOUS_RUN]
    assert (await world.row(schedule)).waiting_for == "previous_run"
    assert (await world.row(schedule)).next_run_at == EPOCH + 3 * HOUR
    assert world.waiting.last == 0
    for _ in range(2):
        world.pass_(hours=1)
        await world.look()
    assert await world.statuses(schedule) == ["started", "waiting", "missed", "missed"]
    assert (await world.ticks(schedule))[2].reason == PASSED_OVER
    assert world.waiting.last == 1
    await world.ended(run)
    assert await world.look(thorough=False) == 0  # nothing is due
    now = world.pass_(minutes=1)
    assert await world.look() == 1
    assert await world.statuses(schedule) == ["started", "fired", "missed", "missed"]
    tick = (await world.ticks(schedule))[1]
    assert (tick.fires, tick.fired_at, tick.reason) == (1, now, None)
    assert (await world.row(schedule)).waiting_for is None
    assert [message.tick_id for message in await world.messages()][1:] == [tick.id]
    assert world.lateness.last == timedelta(hours=2, minutes=1).total_seconds()


async def test_a_run_that_was_asked_for_and_is_not_there_holds_up_the_next_too(world: World) -> None:
    schedule = await world.schedule(cron="*/10 * * * *")
    world.pass_(minutes=10)
    await world.look()
    world.pass_(minutes=10)
    await world.look()
    assert await world.statuses(schedule) == ["fired", "waiting"]
    await world.ended(await world.started(schedule))
    await world.look()
    assert await world.statuses(schedule) == ["started", "fired"]


async def test_after_a_time_away_a_waiting_tick_is_the_one_that_is_played(world: World) -> None:
    schedule = await world.schedule()
    world.pass_(hours=1)
    await world.look()
    run = await world.started(schedule)
    world.pass_(hours=1)
    await world.look()
    await world.ended(run)
    world.pass_(hours=5)
    await world.look()
    assert await world.statuses(schedule) == ["started", "fired", "missed"]
    assert (await world.ticks(schedule))[2].missed == 4
    assert len(await world.messages()) == 2


async def test_a_stuck_run_holds_up_its_schedule_for_a_day(world: World) -> None:
    """R-08: what was passed over is recorded, and the next one fires."""
    schedule = await world.schedule(cron="0 */6 * * *")
    world.pass_(hours=6)
    await world.look()
    await world.started(schedule, status="pending")
    for _ in range(4):
        world.pass_(hours=6)
        await world.look()
    assert await world.statuses(schedule) == ["started", "fired", "missed", "missed", "missed"]


async def test_a_run_that_does_not_come_is_asked_for_again_and_then_given_up(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    schedule = await world.schedule(cron="0 0 * * *", is_active=True)
    world.pass_(days=1)
    await world.look()
    world.pass_(minutes=14)
    assert await world.look() == 0
    world.pass_(minutes=1)
    assert await world.look() == 1
    assert await world.look() == 0
    first, again = await world.messages()
    assert (again.tick_id, again.planned_at) == (first.tick_id, first.planned_at)
    assert (first.fire, again.fire) == (0, 1)
    assert first.id() != again.id()
    assert await world.statuses(schedule) == ["fired"]
    world.pass_(hours=23, minutes=45)
    await world.look()
    given_up, waits = await world.ticks(schedule)
    assert (given_up.status, given_up.reason) == ("refused", NOT_STARTED)
    assert waits.status == "fired"
    assert len(await world.messages()) == 3
    assert "schedule.refused" in caplog.text


async def test_a_quota_lets_so_many_out_and_the_rest_wait(world: World) -> None:
    account = await world.account(runs_per_minute=2)
    all_ = [await world.schedule(account, cron="0 0 * * *") for _ in range(5)]
    other = await world.schedule(cron="0 0 * * *")
    world.pass_(days=1)
    await world.look()

    async def by_status(status: str) -> list[UUID]:
        return [one for one in all_ if status in await world.statuses(one)]

    fired = await by_status("fired")
    assert len(fired) == 2
    assert len(await by_status("waiting")) == 3
    assert await world.statuses(other) == ["fired"]
    assert {(await world.row(one)).waiting_for for one in await by_status("waiting")} == {"quota"}
    world.pass_(seconds=5)
    await world.look()
    assert len(await by_status("fired")) == 2
    for one in fired:
        await world.started(one)
    world.pass_(seconds=59)
    await world.look()
    assert len(await by_status("fired")) == 0
    world.pass_(seconds=2)
    await world.look()
    later = await by_status("fired")
    assert len(later) == 2
    for one in later:
        await world.started(one)
    world.pass_(seconds=61)
    await world.look()
    assert len(await by_status("fired")) == 1
    assert len(await by_status("waiting")) == 0
    assert len(await world.messages()) == 6


async def test_without_money_nothing_is_asked_for(world: World) -> None:
    account = await world.account(balance_micro=0)
    schedule = await world.schedule(account)
    world.pass_(hours=1)
    await world.look()
    (tick,) = await world.ticks(schedule)
    assert (tick.status, tick.reason) == ("waiting", REASONS[Waiting.BALANCE])
    await world.limit(account, balance_micro=5, runs_per_minute=0)
    await world.look()
    (tick,) = await world.ticks(schedule)
    assert (tick.status, tick.reason) == ("waiting", REASONS[Waiting.QUOTA])
    assert (await world.row(schedule)).waiting_for == "quota"
    await world.limit(account, runs_per_minute=None)
    await world.look()
    assert await world.statuses(schedule) == ["fired"]


async def test_a_planned_time_that_is_known_is_not_fired_again(world: World) -> None:
    """However a schedule was set back, by a clock or by hand, its planned times have one tick each."""
    schedule = await world.schedule()
    world.pass_(hours=1)
    await world.look()
    await world.ended(await world.started(schedule))
    await world.change(schedule, counted_from=EPOCH, counted_local=None, next_run_at=EPOCH + HOUR)
    await world.look()
    assert await world.statuses(schedule) == ["started"]
    assert len(await world.messages()) == 1
    assert (await world.row(schedule)).next_run_at == EPOCH + 2 * HOUR
    assert world.decided.values == {"fired": 1}


async def test_a_time_that_the_zone_has_moved_away_is_waited_for(world: World) -> None:
    schedule = await world.schedule(cron="0 5 * * *")
    await world.change(schedule, next_run_at=EPOCH + HOUR)  # as older rules of its zone had it
    world.pass_(hours=1)
    assert await world.look() == 1
    assert await world.ticks(schedule) == []
    assert (await world.row(schedule)).next_run_at == EPOCH + 5 * HOUR


async def test_a_clock_that_cannot_be_read_here_is_said_and_looked_at_later(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    account = await world.account()
    broken = await world.schedule(account)
    await world.change(broken, timezone="Mars/Phobos")
    sound = await world.schedule(account)
    now = world.pass_(hours=1)
    await world.look()
    assert await world.statuses(sound) == ["fired"]
    assert await world.ticks(broken) == []
    row = await world.row(broken)
    assert (row.counted_from, row.next_run_at) == (EPOCH, now + timedelta(minutes=5))
    assert "schedule.unreadable" in caplog.text
    await world.change(broken, timezone="UTC")
    world.pass_(hours=2)
    await world.look()
    (tick,) = await world.ticks(broken)
    assert (tick.planned_at, tick.missed) == (EPOCH + 3 * HOUR, 2)


async def test_what_fails_for_one_account_fails_for_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = await world.account(), await world.account()
    unlucky, lucky = await world.schedule(bad), await world.schedule(good)
    claim = schedules.claim

    async def failing(unit: Any, account_id: UUID, **more: Any) -> Any:
        if account_id == bad:
            raise RuntimeError("a fault of ours")
        return await claim(unit, account_id, **more)

    monkeypatch.setattr(schedules, "claim", failing)
    world.pass_(hours=1)
    await world.look()
    assert await world.statuses(lucky) == ["fired"]
    assert await world.ticks(unlucky) == []
    assert "schedule.account_failed" in caplog.text
    monkeypatch.undo()
    await world.look()
    assert await world.statuses(unlucky) == ["fired"]


async def test_more_than_one_transaction_holds_are_decided_in_several(world: World) -> None:
    account = await world.account(runs_per_minute=3)
    ran = [EPOCH - HOUR if n % 2 else None for n in range(7)]
    all_ = [await world.schedule(account, last_run_at=last) for last in ran]
    world.pass_(hours=1)
    assert await world.ticking(batch=2).look(thorough=False) == 7
    assert await world.ticking(batch=2).look(thorough=True) == 4
    statuses = [await world.statuses(one) for one in all_]
    assert sorted(statuses) == [["fired"]] * 3 + [["waiting"]] * 4


async def test_who_has_waited_longest_for_a_run_is_first(world: World) -> None:
    account = await world.account(runs_per_minute=1)
    newest = await world.schedule(account, last_run_at=EPOCH)
    oldest = await world.schedule(account, last_run_at=EPOCH - HOUR)
    world.pass_(hours=1)
    await world.look()
    assert await world.statuses(oldest) == ["fired"]
    assert await world.statuses(newest) == ["waiting"]


async def test_the_clock_that_falls_back_fires_once_for_the_wall_and_twice_for_a_star(world: World) -> None:
    """In Kyiv, 03:30 comes twice on 25 October 2026."""
    since = datetime.fromisoformat("2026-10-25T02:45+03:00")
    wall = await world.schedule(cron="30 3 * * *", zone="Europe/Kyiv", since=since)
    star = await world.schedule(cron="30 * * * *", zone="Europe/Kyiv", since=since)
    world.pass_(seconds=(since - EPOCH).total_seconds())
    for _ in range(12):
        world.pass_(minutes=10)
        await world.look()
        for one in (wall, star):
            if "fired" in await world.statuses(one):
                await world.ended(await world.started(one))
    assert [tick.planned_local for tick in await world.ticks(wall)] == ["2026-10-25T03:30+03:00"]
    assert [tick.planned_local for tick in await world.ticks(star)] == [
        "2026-10-25T03:30+03:00",
        "2026-10-25T03:30+02:00",
    ]
