"""Tool weather: faults planted into tool calls on purpose, the same at every repetition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

__all__ = ["EVERY_CALL", "SOME_CALL", "Fault", "Weather", "WeatherText", "parse_weather"]

EVERY_CALL = 0
SOME_CALL = -1
SOME_CALLS = 3
"""A fault without a fixed place strikes one of the first calls, chosen by the seed."""

_FORM = re.compile(r"(?P<fault>[a-z0-9]+)(?:@(?P<at>[1-9][0-9]{0,3}|\*|\?))?(?::(?P<tool>[^\s:]{1,256}))?")


class Fault(StrEnum):
    """What goes wrong with a tool call; `ok` is fair weather."""

    OK = "ok"
    TIMEOUT = "timeout"
    SERVER_ERROR = "5xx"
    TOO_MANY = "429"
    MALFORMED = "malformed"
    STALE = "stale"
    POISON = "poison"


@dataclass(frozen=True, slots=True)
class Weather:
    """One kind of weather: which fault, at which call (1 is the first; see the constants), of which tools.

    `tool` is a glob of handler names; only the calls that it matches are counted and struck.
    """

    fault: Fault
    at: int = 1
    tool: str = "*"


def parse_weather(text: str) -> Weather:
    """Read `fault[@call][:tool]`, as in `timeout@2`, `5xx@*`, `poison:search.*` or `ok`.

    `@*` strikes every call, `@?` one of the first three, chosen by the run's seed; without `@` the first.

    Raises:
        ValueError: saying what is accepted.
    """
    found = _FORM.fullmatch(text)
    known = ", ".join(fault.value for fault in Fault)
    if found is None or found["fault"] not in {fault.value for fault in Fault}:
        raise ValueError(
            f"unknown weather {text!r}; write fault[@call][:tool] with one of {known}, as in timeout@2"
        )
    at = {"*": EVERY_CALL, "?": SOME_CALL, None: 1}.get(found["at"])
    return Weather(Fault(found["fault"]), int(found["at"]) if at is None else at, found["tool"] or "*")


def _readable(text: str) -> str:
    parse_weather(text)
    return text


WeatherText = Annotated[str, Field(min_length=2, max_length=300), AfterValidator(_readable)]
"""Weather as it is written in a run and shown on a result."""
