"""What becomes of a schedule that is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.schedules import Waiting
from proctor_schedules.cron import read_cron
from proctor_schedules.deciding import (
    ASK_AGAIN,
    GIVE_UP,
    LONGEST_WAIT,
    MOST_COUNTED,
    Ask,
    Count,
    Fire,
    Miss,
    Move,
    Situation,
    Wait,
    ask_again,
    decide,
    hindrance,
    recount,
)
from proctor_schedules.times import local_text, next_after
from proctor_schedules.zones import read_zone

KYIV = read_zone("Europe/Kyiv")
UTC_ZONE = read_zone("UTC")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
FREE = Situation(running_since=None, asked=False, spent=False, room=None)
SECOND = timedelta(seconds=1)


def counting(text: str, since: datetime, *, zone: ZoneInfo = UTC_ZONE, local: str | None = None) -> Count:
    return Count(cron=read_cron(text), zone=zone, since=since, local=local)


def test_a_due_time_fires_and_the_next_is_counted() -> None:
    count = counting("0 15 * * *", NOON - timedelta(days=1), zone=KYIV)
    decision = decide(count, now=NOON + SECOND, waits=False, hindered=None)
    assert isinstance(decision, Fire)
    assert decision.tick.planned_at == NOON
    assert decision.tick.planned_local == "2026-05-04T15:00+03:00"
    assert decision.tick.missed == 0
    assert decision.tick.next_run_at == NOON + timedelta(days=1)


@pytest.mark.parametrize("early", [SECOND, timedelta(hours=3)])
def test_a_time_that_has_not_come_moves_the_schedule(early: timedelta) -> None:
    count = counting("0 12 * * *", NOON - timedelta(days=1))
    assert decide(count, now=NOON - early, waits=False, hindered=None) == Move(next_run_at=NOON)


def test_after_twelve_hours_away_one_run_stands_for_all() -> None:
    """C-09: 48 missed times are one run, counted, and the next one lies ahead."""
    count = counting("*/15 * * * *", NOON - timedelta(hours=12))
    decision = decide(count, now=NOON + 7 * SECOND, waits=False, hindered=None)
    assert isinstance(decision, Fire)
    assert decision.tick.planned_at == NOON
    assert decision.tick.missed == 47
    assert decision.tick.next_run_at == NOON + timedelta(minutes=15)


def test_counting_what_was_missed_in_years_is_cut_short() -> None:
    began = process_time()
    count = counting("*/5 * * * *", NOON - timedelta(days=3650))
    decision = decide(count, now=NOON + SECOND, waits=False, hindered=None)
    assert process_time() - began < 0.5
    assert isinstance(decision, Fire)
    assert decision.tick.planned_at == NOON
    assert decision.tick.missed == MOST_COUNTED
    assert decision.tick.next_run_at == NOON + timedelta(minutes=5)


def test_a_rare_schedule_is_cut_short_as_well() -> None:
    count = counting("0 12 1 1 *", datetime(1000, 1, 1, tzinfo=UTC))
    decision = decide(count, now=NOON, waits=False, hindered=None)
    assert isinstance(decision, Fire)
    assert decision.tick.planned_at == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert decision.tick.missed == MOST_COUNTED


def test_what_is_in_the_way_is_waited_for() -> None:
    count = counting("0 12 * * *", NOON - timedelta(days=2, hours=1))
    decision = decide(count, now=NOON + SECOND, waits=False, hindered=Waiting.QUOTA)
    assert isinstance(decision, Wait)
    assert decision.reason is Waiting.QUOTA
    assert (decision.tick.planned_at, decision.tick.missed) == (NOON, 2)
    assert decision.tick.next_run_at == NOON + timedelta(days=1)


@pytest.mark.parametrize("hindered", [None, Waiting.BALANCE])
def test_only_one_tick_waits_at_a_time(hindered: Waiting | None) -> None:
    count = counting("0 12 * * *", NOON - timedelta(days=1))
    decision = decide(count, now=NOON, waits=True, hindered=hindered)
    assert isinstance(decision, Miss)
    assert decision.tick.planned_at == NOON


def test_the_end_of_time_has_no_next() -> None:
    last = datetime(9999, 12, 31, 12, tzinfo=UTC)
    decision = decide(
        counting("0 12 31 12 *", last - timedelta(days=1)), now=last, waits=False, hindered=None
    )
    assert isinstance(decision, Fire)
    assert decision.tick.next_run_at is None


class Zones:
    """A zone before and after its rules were changed: from some hours ahead of UTC to others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ahead(self, hours: int) -> ZoneInfo:
        # A zone file with one kind of time and the rule for all years, in which west is positive.
        counts = b"".join(n.to_bytes(4, "big") for n in (0, 0, 0, 0, 1, 4))
        block = b"TZif2" + bytes(15) + counts + (hours * 3600).to_bytes(4, "big") + b"\0\0" + b"XXX\0"
        path = self.folder / f"{hours}"
        path.write_bytes(block + block + f"\n<X>{-hours}\n".encode())
        with path.open("rb") as file:
            return ZoneInfo.from_file(file, key="Proctor/Test")


@pytest.fixture
def zones(tmp_path: Path) -> Zones:
    return Zones(tmp_path)


def test_a_zone_that_was_set_back_moves_a_due_time(zones: Zones) -> None:
    """Counted at +3, read at +2: at the old moment the clock shows an hour less."""
    since = NOON - timedelta(hours=20)
    old = next_after(read_cron("0 15 * * *"), zones.ahead(3), since)
    assert old == NOON
    count = counting("0 15 * * *", since, zone=zones.ahead(2))
    assert decide(count, now=NOON + SECOND, waits=False, hindered=None) == Move(
        next_run_at=NOON + timedelta(hours=1)
    )


def test_a_wall_time_that_was_played_is_not_played_again_when_its_zone_is_set_back(zones: Zones) -> None:
    local = local_text(NOON, zones.ahead(3))
    assert local == "2026-05-04T15:00+03:00"
    tomorrow = NOON + timedelta(days=1, hours=1)
    played = counting("0 15 * * *", NOON, zone=zones.ahead(2), local=local)
    assert next(played.times()) == tomorrow
    # An edit counts from its own moment, and whoever asks for 15:00 again gets it.
    edited = counting("0 15 * * *", NOON, zone=zones.ahead(2))
    assert next(edited.times()) == NOON + timedelta(hours=1)
    # With a star it is the time that passes which counts.
    often = counting("0 * * * *", NOON, zone=zones.ahead(2), local=local)
    assert next(often.times()) == NOON + timedelta(hours=1)


def test_a_zone_that_was_set_forward_fires_late_and_not_twice(zones: Zones) -> None:
    count = counting("0 15 * * *", NOON - timedelta(hours=20), zone=zones.ahead(4))
    decision = decide(count, now=NOON + SECOND, waits=False, hindered=None)
    assert isinstance(decision, Fire)
    assert decision.tick.planned_at == NOON - timedelta(hours=1)
    assert decision.tick.missed == 0
    assert decision.tick.next_run_at == NOON + timedelta(hours=23)


def test_a_recount_notices_new_rules_before_the_old_time_comes(zones: Zones) -> None:
    count = counting("0 15 * * *", NOON - timedelta(hours=20), zone=zones.ahead(4))
    again, coming = recount(count, now=NOON - timedelta(hours=10))
    assert again == count
    assert coming == NOON - timedelta(hours=1)


def test_a_clock_that_ran_ahead_is_counted_anew() -> None:
    count = counting("0 12 * * *", NOON + timedelta(days=365), local="2027-05-04T12:00+00:00")
    again, coming = recount(count, now=NOON - SECOND)
    assert (again.since, again.local) == (NOON - SECOND, None)
    assert coming == NOON


def test_a_clock_that_was_set_back_a_little_changes_nothing() -> None:
    count = counting("0 12 * * *", NOON, local="2026-05-04T12:00+00:00")
    again, coming = recount(count, now=NOON - timedelta(minutes=2))
    assert again == count
    assert coming == NOON + timedelta(days=1)


@pytest.mark.parametrize(
    ("situation", "reason"),
    [
        (FREE, None),
        (Situation(running_since=NOON, asked=False, spent=False, room=None), Waiting.PREVIOUS_RUN),
        (Situation(running_since=None, asked=True, spent=True, room=0), Waiting.PREVIOUS_RUN),
        (Situation(running_since=None, asked=False, spent=True, room=0), Waiting.BALANCE),
        (Situation(running_since=None, asked=False, spent=False, room=0), Waiting.QUOTA),
        (Situation(running_since=None, asked=False, spent=False, room=-3), Waiting.QUOTA),
        (Situation(running_since=None, asked=False, spent=False, room=1), None),
    ],
)
def test_what_may_be_in_the_way(situation: Situation, reason: Waiting | None) -> None:
    assert hindrance(situation, now=NOON) is reason


def test_a_run_that_never_ends_holds_its_schedule_for_a_day() -> None:
    """R-08: one stuck run does not block the schedule for ever."""
    stuck = Situation(running_since=NOON, asked=False, spent=False, room=None)
    assert hindrance(stuck, now=NOON + LONGEST_WAIT - SECOND) is Waiting.PREVIOUS_RUN
    assert hindrance(stuck, now=NOON + LONGEST_WAIT) is None


@pytest.mark.parametrize(
    ("since_fired", "since_asked", "answer"),
    [
        (timedelta(), timedelta(), Ask.WAIT),
        (ASK_AGAIN - SECOND, ASK_AGAIN - SECOND, Ask.WAIT),
        (ASK_AGAIN, ASK_AGAIN, Ask.AGAIN),
        (GIVE_UP - SECOND, SECOND, Ask.WAIT),
        (GIVE_UP, SECOND, Ask.GIVE_UP),
    ],
)
def test_a_run_that_was_asked_for_is_asked_for_again_and_then_given_up(
    since_fired: timedelta, since_asked: timedelta, answer: Ask
) -> None:
    assert ask_again(fired_at=NOON - since_fired, asked_at=NOON - since_asked, now=NOON) is answer


@given(
    st.sampled_from(["*/5 * * * *", "0 * * * *", "30 3 * * *", "0 9 * * 1", "0,30 2,3 * * *"]),
    st.lists(st.integers(0, 40_000), min_size=1, max_size=12),
)
def test_however_it_is_looked_at_no_time_is_played_twice_or_lost(text: str, steps: list[int]) -> None:
    """Over a change of clocks and looked at at any moments, ticks and what they stand for are all times."""
    cron, now = read_cron(text), datetime(2026, 10, 24, 20, tzinfo=UTC)
    count, seen, planned = Count(cron=cron, zone=KYIV, since=now), 0, []
    began = now
    for minutes in steps:
        now += timedelta(minutes=minutes / 10)
        decision = decide(count, now=now, waits=False, hindered=None)
        if isinstance(decision, Move):
            assert decision.next_run_at is not None
            assert decision.next_run_at > now
            continue
        assert isinstance(decision, Fire)
        tick = decision.tick
        assert tick.planned_at <= now
        assert tick.next_run_at is not None
        assert tick.next_run_at > now
        planned.append(tick.planned_at)
        seen += 1 + tick.missed
        count = Count(cron=cron, zone=KYIV, since=tick.planned_at, local=tick.planned_local)
    assert planned == sorted(set(planned))
    every = Count(cron=cron, zone=KYIV, since=began)
    assert seen == sum(1 for _ in takewhile(lambda instant: instant <= now, every.times()))
