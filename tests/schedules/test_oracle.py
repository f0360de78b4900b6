"""Ten years of a dozen zones against cronsim, which was written for the same rules by others.

Both agree on every expression whose minute and hour begin with no star. One with a star fires "whenever the
clock shows a right time"; cronsim steps over such times where a change of the clock does not fall on whole
hours, and in St. John's it never returns. There, every minute is looked at instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from proctor_schedules.cron import Cron, read_cron
from proctor_schedules.faults import ScheduleFault
from proctor_schedules.times import fires
from proctor_schedules.zones import read_zone

YEARS = 10
MINUTE = timedelta(minutes=1)
# The years of each in which its clocks do the strangest things.
ZONES = {
    "UTC": 2020,
    "Europe/Kyiv": 2020,
    "Europe/Lisbon": 2020,
    "America/New_York": 2020,
    "America/Sao_Paulo": 2010,  # gaps at midnight, then none any more
    "America/St_Johns": 2005,  # changes at one minute past midnight
    "Australia/Lord_Howe": 2020,  # half an hour
    "Pacific/Apia": 2008,  # left out a day
    "Pacific/Chatham": 2020,  # changes at 02:45
    "Antarctica/Troll": 2016,  # two hours
    "Africa/Casablanca": 2018,  # back for each Ramadan
    "Africa/Cairo": 2018,  # gaps at midnight again since 2023
    "Asia/Kolkata": 2020,
    "Asia/Pyongyang": 2012,  # half an hour back, and forth again
    "Asia/Tehran": 2016,  # gaps at midnight until 2022
}
UNCHANGED = {"UTC", "Asia/Kolkata"}
UNEVEN = {"America/St_Johns", "Australia/Lord_Howe", "Pacific/Chatham", "Asia/Pyongyang"}
RARE = (
    "0 0 * * *",
    "15 1 * * *",
    "30 2 * * *",
    "59 23 * * *",
    "0 12 * * sun",
    "1 0 1 */3 *",
    "30 3 13 * 5",
    "0 9 */2 * 6",
    "45 23-23 29 2 *",
)
OFTEN = ("*/15 * * * *", "*/5 0-4 * * *", "7 * * * *", "0 */4 * * *", "45 */2 * * sun", "0,30 0-4 * * *")


@lru_cache
def changes(zone: ZoneInfo) -> tuple[datetime, ...]:
    """The days on which the zone's clocks are changed, by their noon before."""
    day, end = (
        datetime(ZONES[zone.key], 1, 1, 12, tzinfo=UTC),
        datetime(ZONES[zone.key] + YEARS, 1, 1, tzinfo=UTC),
    )
    found = []
    while day < end:
        after = day + timedelta(days=1)
        if day.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset():
            found.append(day)
        day = after
    return tuple(found)


def ours(cron: Cron, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    return list(takewhile(lambda instant: instant <= end, fires(cron, zone, start)))


def oracle(cron: Cron, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    told = (instant.astimezone(UTC) for instant in CronSim(cron.text, start.astimezone(zone)))
    return list(takewhile(lambda instant: instant <= end, told))


def literally(cron: Cron, zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """The rule for expressions with a star, by looking at the clock every minute."""
    instant = start.replace(second=0, microsecond=0) + MINUTE
    while instant <= end:
        wall = instant.astimezone(zone)
        if wall.hour * 60 + wall.minute in cron.times and cron.on(wall.date()):
            yield instant
        instant += MINUTE


def check(cron: Cron, zone: ZoneInfo, start: datetime, end: datetime) -> None:
    """Compare with cronsim, or with the rule itself where cronsim breaks it."""
    told = literally if cron.wildcard and zone.key in UNEVEN else oracle
    assert ours(cron, zone, start, end) == list(told(cron, zone, start, end))


@pytest.mark.parametrize("name", ZONES)
def test_ten_years_of_rare_times(name: str) -> None:
    zone = read_zone(name)
    start = datetime(ZONES[name], 1, 1, tzinfo=UTC)
    end = datetime(ZONES[name] + YEARS, 1, 1, tzinfo=UTC)
    for text in RARE:
        check(read_cron(text), zone, start, end)


@pytest.mark.parametrize("name", [name for name in ZONES if name not in UNCHANGED])
def test_days_around_every_change_of_clocks(name: str) -> None:
    zone = read_zone(name)
    assert changes(zone)
    for noon in changes(zone):
        for text in OFTEN:
            check(read_cron(text), zone, noon - timedelta(hours=15), noon + timedelta(days=1))


@st.composite
def expressions(draw: st.DrawFn) -> Cron:
    minute = draw(st.sampled_from(["0", "15", "30", "45", "59", "1", "*/15", "*/20", "0,30", "5-55/10"]))
    hour = draw(
        st.sampled_from(["*", "0", "1", "2", "3", "23", "0-4", "*/2", "*/3", "1,2,3", "0,12", "22-23"])
    )
    day = draw(st.sampled_from(["*", "*", "*", "1", "*/2", "13", "31", "25-31", "1,15"]))
    month = draw(st.sampled_from(["*", "*", "3", "10,11", "*/2", "3-4"]))
    weekday = draw(st.sampled_from(["*", "*", "*", "0", "sun", "1-5", "sat,sun", "*/2"]))
    try:
        return read_cron(f"{minute} {hour} {day} {month} {weekday}")
    except ScheduleFault:
        reject()


@settings(max_examples=300, deadline=None)
@given(expressions(), st.sampled_from([name for name in ZONES if name not in UNCHANGED]), st.data())
def test_any_expression_around_any_change(cron: Cron, name: str, data: st.DataObject) -> None:
    zone = read_zone(name)
    noon = data.draw(st.sampled_from(changes(zone)))
    # Not in the middle of a repeated hour, of which cronsim cannot be told which one is meant.
    start = noon - timedelta(minutes=data.draw(st.integers(15 * 60, 48 * 60)))
    check(cron, zone, start, noon + timedelta(days=2))


@settings(max_examples=100, deadline=None)
@given(expressions(), st.sampled_from(sorted(ZONES)), st.integers(0, YEARS * 365 * 24 * 60))
def test_where_one_begins_to_count_does_not_matter(cron: Cron, name: str, minutes: int) -> None:
    zone = read_zone(name)
    start = datetime(ZONES[name], 1, 1, tzinfo=UTC) + minutes * MINUTE
    end = start + timedelta(days=3)
    whole = ours(cron, zone, start - timedelta(days=2), end)
    assert ours(cron, zone, start, end) == [one for one in whole if one > start]
    assert all(late > early for early, late in pairwise(whole))
