"""Cron expressions: exactly five fields, read in one way, or refused with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise

from croniter import croniter

from .faults import ScheduleFault
from .fields import FIELDS, normal

__all__ = ["SHORTEST_MINUTES", "Cron", "read_cron"]

SHORTEST_MINUTES = 5
_FIELDS = len(FIELDS)
_DAY_MINUTES = 24 * 60
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NAMED = {
    "@HOURLY": "0 * * * *",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@WEEKLY": "0 0 * * 0",
    "@MONTHLY": "0 0 1 * *",
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
}
# Weekdays and leap years repeat after 28 years, within a century.
_CYCLE = (date(2000, 1, 1), date(2028, 3, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """An expression that was read.

    `times` are the minutes of a day at which it fires, in order; `weekdays` count from Sunday, 0. With
    `both_days`, a day must be right by month and by week, otherwise by either. `wildcard` says that minute or
    hour begins with a star: such a schedule follows the time that passes, any other the clock on the wall.
    """

    text: str
    times: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    both_days: bool
    wildcard: bool

    def on(self, day: date) -> bool:
        """Whether it fires on this day at all."""
        if day.month not in self.months:
            return False
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_month and by_week if self.both_days else by_month or by_week


@lru_cache(maxsize=1024)
def read_cron(text: str) -> Cron:
    """Read a cron expression of five fields, or one of the names such as `@daily`.

    Raises:
        ScheduleFault: when it cannot be read, never fires, or fires more often than every five minutes.
    """
    fields = _fields(text)
    written = [normal(part, field) for part, field in zip(fields, FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = _values(written)
    cron = Cron(
        text=" ".join(text.split()),
        times=tuple(hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(weekdays),
        both_days=written[2].startswith("*") or written[4].startswith("*"),
        wildcard=written[0].startswith("*") or written[1].startswith("*"),
    )
    _check_that_it_fires(cron)
    _check_interval(cron)
    return cron


def _fields(text: str) -> Sequence[str]:
    if not text.isascii():
        odd = next(sign for sign in text if not sign.isascii())
        raise ScheduleFault(
            "cron_value", f"{odd!r} does not belong into a cron expression; use plain letters"
        )
    name = text.strip().upper()
    if name.startswith("@"):
        if name not in _NAMED:
            known = ", ".join(one.lower() for one in _NAMED)
            message = f"{text.strip()} is not supported; write five fields, or one of {known}"
            raise ScheduleFault("cron_not_supported", message)
        return _NAMED[name].split()
    fields = text.split()
    if len(fields) != _FIELDS:
        names = ", ".join(field.name for field in FIELDS)
        count = "is 1 field" if len(fields) == 1 else f"are {len(fields)} fields"
        message = f"there {count}; exactly five are read: {names}{_meant(fields)}"
        raise ScheduleFault("cron_field_count", message)
    return fields


def _meant(fields: Sequence[str]) -> str:
    """Guess what an expression with another number of fields is, where it can be told."""
    if len(fields) == _FIELDS - 1 and _readable([*fields, "*"]):
        return f"; the day of week is probably missing, write {' '.join(fields)} *"
    if len(fields) <= _FIELDS:
        return ""
    five = " ".join(fields[:_FIELDS])
    if any(sign.isalpha() for sign in fields[_FIELDS]) and not _readable(fields[1 : _FIELDS + 1]):
        return f"; what follows them is probably a user or a command, write {five}"
    inner = [part.replace("?", "*") for part in fields[1 : _FIELDS + 1]]
    if _readable(inner):
        years = " and years last" if len(fields) > _FIELDS + 1 else ""
        return f"; this one probably has seconds first{years}, write {' '.join(inner)}"
    if _readable(fields[:_FIELDS]):
        return f"; write {five}"
    return ""


def _readable(fields: Sequence[str]) -> bool:
    try:
        for part, field in zip(fields, FIELDS, strict=True):
            normal(part, field)
    except ScheduleFault:
        return False
    return True


def _values(written: Sequence[str]) -> Iterator[set[int]]:
    """Let the library list the values; what it is asked has one reading left."""
    expanded, _ = croniter.expand(" ".join(written))
    for field, values in zip(FIELDS, expanded, strict=True):
        if "*" in values:
            yield set(range(field.low, field.high + 1))
        else:
            yield {int(value) for value in values}


def _check_that_it_fires(cron: Cron) -> None:
    if not cron.both_days:
        return
    longest = max(_LONGEST_MONTHS[month - 1] for month in cron.months)
    if min(cron.days) > longest:
        message = f"{cron.text} never fires: no such month has a day {min(cron.days)}; name a day that exists"
        raise ScheduleFault("cron_never", message)


def _check_interval(cron: Cron) -> None:
    pairs = [(late - early, early, late) for early, late in pairwise(cron.times)]
    over_midnight = cron.times[0] + _DAY_MINUTES - cron.times[-1]
    if over_midnight < SHORTEST_MINUTES and _on_two_days_running(cron):
        pairs.append((over_midnight, cron.times[-1], cron.times[0]))
    closest = min(pairs, default=None)
    if closest is None or closest[0] >= SHORTEST_MINUTES:
        return
    apart, early, late = closest
    unit = "minute" if apart == 1 else "minutes"
    raise ScheduleFault(
        "cron_too_often",
        f"{cron.text} fires at {_clock(early)} and again at {_clock(late)}, {apart} {unit} later; "
        f"leave at least {SHORTEST_MINUTES} minutes between two runs, as */{SHORTEST_MINUTES} does",
    )


def _on_two_days_running(cron: Cron) -> bool:
    day, end = _CYCLE
    before = False
    while day < end:
        now = cron.on(day)
        if now and before:
            return True
        before = now
        day += timedelta(days=1)
    return False


def _clock(minute_of_day: int) -> str:
    return f"{minute_of_day // 60:02}:{minute_of_day % 60:02}"
