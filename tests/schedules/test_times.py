"""Fire times through changes of the clock, pinned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from proctor_schedules.cron import read_cron
from proctor_schedules.times import fires, local_text, next_after, next_times
from proctor_schedules.zones import read_zone


def shown(text: str, zone: str, after: datetime, count: int) -> list[str]:
    where = read_zone(zone)
    return [local_text(one, where) for one in next_times(read_cron(text), where, after, count)]


def test_a_time_in_the_gap_fires_at_its_end() -> None:
    """C-01: on 29 March 2026 the clocks of Kyiv go from 03:00 to 04:00."""
    found = next_times(
        read_cron("30 3 * * *"), read_zone("Europe/Kyiv"), datetime(2026, 3, 28, 1, 30, tzinfo=UTC), 3
    )
    assert found == (
        datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
        datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
        datetime(2026, 3, 31, 0, 30, tzinfo=UTC),
    )


def test_times_in_the_gap_and_at_its_end_are_one() -> None:
    assert shown("0,30 3,4 * * *", "Europe/Kyiv", datetime(2026, 3, 28, 22, tzinfo=UTC), 3) == [
        "2026-03-29T04:00+03:00",
        "2026-03-29T04:30+03:00",
        "2026-03-30T03:00+03:00",
    ]


def test_a_time_that_is_shown_twice_fires_once() -> None:
    assert shown("30 3 * * *", "Europe/Kyiv", datetime(2026, 10, 24, 1, tzinfo=UTC), 3) == [
        "2026-10-25T03:30+03:00",
        "2026-10-26T03:30+02:00",
        "2026-10-27T03:30+02:00",
    ]


def test_between_its_two_showings_the_first_is_not_made_up_for() -> None:
    between = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)  # 03:10 for the second time
    assert shown("30 3 * * *", "Europe/Kyiv", between, 1) == ["2026-10-26T03:30+02:00"]


def test_a_star_in_minutes_or_hours_follows_the_time_that_passes() -> None:
    assert shown("*/30 * * * *", "Europe/Kyiv", datetime(2026, 3, 29, 0, 15, tzinfo=UTC), 3) == [
        "2026-03-29T02:30+02:00",
        "2026-03-29T04:00+03:00",
        "2026-03-29T04:30+03:00",
    ]
    assert shown("30 * * * *", "Europe/Kyiv", datetime(2026, 10, 24, 23, 45, tzinfo=UTC), 3) == [
        "2026-10-25T03:30+03:00",
        "2026-10-25T03:30+02:00",
        "2026-10-25T04:30+02:00",
    ]


def test_half_an_hour_of_lord_howe() -> None:
    assert shown("15 2 * * *", "Australia/Lord_Howe", datetime(2026, 10, 3, tzinfo=UTC), 2) == [
        "2026-10-04T02:30+11:00",
        "2026-10-05T02:15+11:00",
    ]
    assert shown("*/15 * * * *", "Australia/Lord_Howe", datetime(2026, 4, 4, 14, 40, tzinfo=UTC), 4) == [
        "2026-04-05T01:45+11:00",
        "2026-04-05T01:30+10:30",
        "2026-04-05T01:45+10:30",
        "2026-04-05T02:00+10:30",
    ]


def test_a_gap_at_midnight_takes_no_day() -> None:
    assert shown("0 0 * * *", "America/Sao_Paulo", datetime(2018, 11, 3, 12, tzinfo=UTC), 2) == [
        "2018-11-04T01:00-02:00",
        "2018-11-05T00:00-02:00",
    ]


def test_a_day_that_was_left_out_is_made_up_for_at_its_end() -> None:
    assert shown("0 12 * * *", "Pacific/Apia", datetime(2011, 12, 29, 12, tzinfo=UTC), 3) == [
        "2011-12-29T12:00-10:00",
        "2011-12-31T00:00+14:00",
        "2011-12-31T12:00+14:00",
    ]


@pytest.mark.parametrize("text", ["0 9 * * 7", "0 9 * * 0", "0 9 * * SUN", "0 9 * * sun-tue"])
def test_the_first_sunday_of_2026(text: str) -> None:
    assert next_after(read_cron(text), read_zone("UTC"), datetime(2026, 1, 1, tzinfo=UTC)) == datetime(
        2026, 1, 4, 9, tzinfo=UTC
    )


def test_friday_to_sunday() -> None:
    found = next_times(read_cron("0 9 * * 5-7"), read_zone("UTC"), datetime(2026, 1, 1, tzinfo=UTC), 4)
    assert [one.day for one in found] == [2, 3, 4, 9]


def test_the_13th_and_fridays() -> None:
    found = next_times(read_cron("0 9 13 * 5"), read_zone("UTC"), datetime(2026, 2, 1, tzinfo=UTC), 6)
    assert [(one.month, one.day) for one in found] == [(2, 6), (2, 13), (2, 20), (2, 27), (3, 6), (3, 13)]


def test_odd_days_that_are_saturdays() -> None:
    found = next_times(read_cron("0 16 */2 * 6"), read_zone("UTC"), datetime(2026, 5, 1, tzinfo=UTC), 5)
    assert [(one.month, one.day) for one in found] == [(5, 9), (5, 23), (6, 13), (6, 27), (7, 11)]


def test_a_leap_day_is_waited_for() -> None:
    found = next_times(read_cron("0 0 29 2 *"), read_zone("UTC"), datetime(2097, 1, 1, tzinfo=UTC), 2)
    assert [one.year for one in found] == [2104, 2108]


def test_a_moment_that_is_a_fire_time_is_not_its_own_next() -> None:
    at = datetime(2026, 1, 1, 9, tzinfo=UTC)
    cron, zone = read_cron("0 9 * * *"), read_zone("UTC")
    assert next_after(cron, zone, at) == at + timedelta(days=1)
    assert next_after(cron, zone, at - timedelta(microseconds=1)) == at


def test_a_moment_of_another_offset_is_the_same_moment() -> None:
    at = datetime.fromisoformat("2026-01-01T10:59:59+02:00")
    assert next_after(read_cron("0 9 * * *"), read_zone("UTC"), at) == datetime(2026, 1, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Adak"])
def test_there_is_an_end_of_time_and_a_beginning(zone: str) -> None:
    cron, where = read_cron("0 */6 * * *"), read_zone(zone)
    late = list(islice(fires(cron, where, datetime(9999, 12, 30, tzinfo=UTC)), 100))
    assert len(late) < 100
    assert late == sorted(set(late))
    assert next_after(cron, where, datetime.max.replace(tzinfo=UTC)) is None
    early = next_after(cron, where, datetime.min.replace(tzinfo=UTC))
    assert early is None or early.year == 1
