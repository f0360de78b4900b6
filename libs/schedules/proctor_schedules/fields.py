"""One field of a cron expression: its grammar, its names, and what other crons know and this one does not.

What is read here is the part that all crons agree on. A text that two of them read differently is refused
with the ways to write it that have one reading.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .faults import ScheduleFault

__all__ = ["FIELDS", "Field", "normal"]

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NUMBER = re.compile(r"[0-9]{1,4}")
_WEEK = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field's name and the values that it knows, `low` to `high`; weekdays know 7 as Sunday, too."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The greatest number that may be written."""
        return _WEEK if self.weekday else self.high

    @property
    def weekday(self) -> bool:
        """Whether this is the day of the week, whose Sunday has two numbers."""
        return self.name == "day of week"


FIELDS = (
    Field(name="minute", low=0, high=59),
    Field(name="hour", low=0, high=23),
    Field(name="day of month", low=1, high=31),
    Field(name="month", low=1, high=12, names={name: n for n, name in enumerate(_MONTHS, 1)}),
    Field(name="day of week", low=0, high=6, names={name: n for n, name in enumerate(_WEEKDAYS)}),
)

_FOREIGN = (
    (re.compile(r".*\?.*"), "?", "write * for a day that does not matter"),
    (re.compile(r".*#.*"), "#", "there is no n-th weekday of a month; name weekdays, or days of the month"),
    (re.compile(r".*~.*"), "~", "there are no random times; write the number"),
    (re.compile(r"H(\(.*)?(/.*)?"), "H", "there are no hashed times; write the number"),
    (re.compile(r"R(\(.*)?(/.*)?"), "R", "there are no random times; write the number"),
    (
        re.compile(r"L(-[0-9]+)?W?|([0-9]+|[A-Z]{3})L"),
        "L",
        "there is no last day of a month; write 1 for the first, or 28",
    ),
    (re.compile(r"[0-9]*W"), "W", "there is no nearest weekday; name the weekdays, such as MON-FRI"),
)


def normal(text: str, field_: Field) -> str:
    """Write a field with numbers only, in the form that every cron reads alike.

    Raises:
        ScheduleFault: naming the field and the part of it that cannot be read.
    """
    return ",".join(_item(item, text, field_) for item in text.upper().split(","))


def _item(item: str, text: str, field_: Field) -> str:
    where = f"{field_.name} {text!r}"
    for pattern, sign, cure in _FOREIGN:
        if pattern.fullmatch(item):
            raise ScheduleFault("cron_not_supported", f"{where}: {sign} is not supported; {cure}")
    span, slash, step = item.partition("/")
    low, high = _span(span, where, field_)
    if not slash:
        return "*" if span == "*" else _range(low, high)
    if "-" not in span and span != "*":
        if field_.weekday:
            saturday, sunday = f"{low}-6/{step}", f"{low}-7/{step}"
            message = f"{where}: crons do not agree where {item} ends; write {saturday} or {sunday}"
            raise ScheduleFault("cron_step", message)
        high = field_.high
    _check_step(step, low, high, where)
    return f"{'*' if span == '*' else f'{low}-{high}'}/{int(step)}"


def _span(span: str, where: str, field_: Field) -> tuple[int, int]:
    if span == "*":
        return field_.low, field_.high
    first, dash, last = span.partition("-")
    low = _value(first, where, field_)
    if not dash:
        return low, low
    # A week that ends with Sunday by name is as clear as 5-7.
    sunday = field_.weekday and last == "SUN" and low != 0
    high = _WEEK if sunday else _value(last, where, field_)
    if low > high:
        raise ScheduleFault(
            "cron_range", f"{where}: {span} runs backwards; write {_around(low, high, field_)}"
        )
    return low, high


def _around(low: int, high: int, field_: Field) -> str:
    """The ranges that one over the end of the clock, the week or the year stands for."""
    if field_.weekday:
        low, last = low % _WEEK, field_.high
        if high == 0:
            return f"{low}-7"
        return _range(0, high) if low == 0 else f"{_range(low, last)},{_range(0, high)}"
    return f"{_range(low, field_.high)},{_range(field_.low, high)}"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _value(text: str, where: str, field_: Field) -> int:
    if text in field_.names:
        return field_.names[text]
    if _NUMBER.fullmatch(text):
        if field_.low <= int(text) <= field_.last:
            return int(text)
        raise ScheduleFault("cron_value", f"{where}: {text} is not from {field_.low} to {field_.last}")
    if text == "":
        raise ScheduleFault("cron_value", f"{where}: a value is missing beside a comma, dash or slash")
    names = f", or a name such as {next(iter(field_.names))}" if field_.names else ""
    message = f"{where}: {text!r} is not a number from {field_.low} to {field_.last}{names}"
    raise ScheduleFault("cron_value", message)


def _check_step(step: str, low: int, high: int, where: str) -> None:
    if not _NUMBER.fullmatch(step) or int(step) == 0:
        raise ScheduleFault("cron_step", f"{where}: the step {step!r} is not a whole number above 0")
    if int(step) > high - low > 0 or high == low:
        message = f"{where}: a step of {int(step)} leaves only {low} of {low} to {high}; write {low}"
        raise ScheduleFault("cron_step", message)
