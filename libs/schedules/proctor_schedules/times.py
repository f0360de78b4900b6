"""When an expression fires in a time zone, through every change of the clock.

The rule is that of Debian's cron. An expression whose minute or hour begins with a star follows the time that
passes: it fires whenever the clock shows a right time, so nothing in a gap and twice in an hour that is
repeated. Any other follows the wall: each of its times happens once a day. One that a gap leaves out fires at
the first instant after the gap, one that is repeated fires at its first showing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from .cron import Cron

__all__ = ["fires", "local_text", "next_after", "next_times"]

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


def fires(cron: Cron, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Every fire time later than the aware instant `after`, in order and in UTC, up to the year 9999."""
    pending: list[datetime] = []
    try:
        told = after.astimezone(UTC)
        for wall in _walls(cron, _first_wall(zone, told)):
            first, second = _showings(wall, zone)
            # No later wall time is shown before this one could be.
            while pending and pending[0] < min(first, second):
                told = heapq.heappop(pending)
                yield told
            for instant in _instants(first, second, zone, both=cron.wildcard):
                if instant > told and instant not in pending:
                    heapq.heappush(pending, instant)
    except OverflowError:
        pass
    yield from sorted(pending)


def next_after(cron: Cron, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The first fire time later than `after`, in UTC; None when there is none before the year 10000."""
    return next(fires(cron, zone, after), None)


def next_times(cron: Cron, zone: ZoneInfo, after: datetime, count: int) -> tuple[datetime, ...]:
    """The next `count` fire times later than `after`, in UTC."""
    return tuple(islice(fires(cron, zone, after), count))


def local_text(instant: datetime, zone: ZoneInfo) -> str:
    """What the zone's clock shows at an instant, with its offset, such as `2026-03-29T04:00+03:00`."""
    return instant.astimezone(zone).isoformat(timespec="minutes")


def _first_wall(zone: ZoneInfo, after: datetime) -> datetime:
    """The earliest time that the clock shows after an instant, if it is set back within a day."""
    shown = [moment.astimezone(zone).replace(tzinfo=None) - ahead for moment, ahead in _soon(after)]
    return min(shown).replace(second=0, microsecond=0)


def _soon(after: datetime) -> Iterator[tuple[datetime, timedelta]]:
    yield after, timedelta()
    yield after + _DAY, _DAY


def _walls(cron: Cron, start: datetime) -> Iterator[datetime]:
    """Every right wall time from `start` on, whether the clock shows it or not."""
    day = start.date()
    while True:
        if day.month not in cron.months:
            day = _next_month(day)
            continue
        if cron.on(day):
            midnight = datetime.combine(day, time())
            for minute in cron.times:
                wall = midnight + minute * _MINUTE
                if wall >= start:
                    yield wall
        day += _DAY


def _next_month(day: date) -> date:
    return (day.replace(day=1) + 32 * _DAY).replace(day=1)


def _showings(wall: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """A wall time in UTC by the offset before and by that after a change of the clock: mostly the same."""
    aware = wall.replace(tzinfo=zone)
    return aware.astimezone(UTC), aware.replace(fold=1).astimezone(UTC)


def _instants(first: datetime, second: datetime, zone: ZoneInfo, *, both: bool) -> Iterator[datetime]:
    """The instants at which a wall time fires: one, or where it is skipped or repeated by the rule above."""
    if first <= second:
        yield first
        if both and second != first:
            yield second
    elif not both:
        yield _end_of_gap(second, first, zone)


def _end_of_gap(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The instant between two at which the zone's offset changes."""
    old = before.astimezone(zone).utcoffset()
    low, high = int(before.timestamp()), int(after.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == old:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, UTC)
