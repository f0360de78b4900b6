"""What a value of a tool call or a record may be compared with: a literal, or a condition on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

from .base import Json, unstorable

__all__ = [
    "MATCHER_TYPES",
    "Absent",
    "Anything",
    "Between",
    "Count",
    "Equals",
    "Items",
    "Matcher",
    "MatcherForm",
    "Matches",
    "OfType",
    "OneOf",
    "Shape",
    "read_matcher",
]

MATCHER_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_CONDITIONS = ("eq", "in", "regex", "gte", "lte", "type", "any", "absent")
_WORDS = frozenset({*_CONDITIONS, "flags"})
_FORMS = "{eq}, {in: [...]}, {regex, flags}, {gte, lte}, {type}, {any: true} or {absent: true}"
_DEEPEST = 32
_LONGEST_PATTERN = 2_000
_LONGEST_FLAGS = 8


@dataclass(frozen=True, slots=True)
class Equals:
    """The same JSON value: 1 is 1.0, true is not 1, texts in one Unicode form."""

    value: Json


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these JSON values."""

    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """A text in which a JavaScript pattern is found; other values are printed as JSON first."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Between:
    """A number within bounds, both included; None is no bound."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class OfType:
    """A value of a JSON type; 2.0 is an integer."""

    type: str


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value but null."""


@dataclass(frozen=True, slots=True)
class Absent:
    """No value, or null."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An object, key by key; what other keys it may have, the check says."""

    fields: Mapping[str, MatcherForm]


@dataclass(frozen=True, slots=True)
class Items:
    """A list of as many items, one by one."""

    items: tuple[MatcherForm, ...]


MatcherForm = Equals | OneOf | Matches | Between | OfType | Anything | Absent | Shape | Items


def read_matcher(value: Json) -> MatcherForm:
    """Read a matcher as it is written; objects and lists in a literal may hold matchers themselves.

    Raises:
        ValueError: saying what is wrong and what is accepted.
    """
    return _read(value, depth=0)


def _read(value: Json, depth: int) -> MatcherForm:
    if depth > _DEEPEST:
        raise ValueError(f"is nested more than {_DEEPEST} levels deep")
    match value:
        case dict():
            if (condition := _condition(value)) is not None:
                return condition
            return Shape({_text(key): _read(item, depth + 1) for key, item in value.items()})
        case list() | tuple():
            return Items(tuple(_read(item, depth + 1) for item in value))
        case _:
            return Equals(_plain(value))


def _condition(given: dict[Any, Json]) -> MatcherForm | None:
    """Read an object as a condition; None when no key of it is a condition's, so that it is a literal."""
    words = _WORDS & given.keys()
    if not words:
        return None
    strange = [str(key) for key in given if key not in _WORDS]
    if strange:
        if words == {"type"}:  # a common name of a field: {"type": "courier", "city": "Lviv"}
            return None
        raise ValueError(
            f"mixes {', '.join(sorted(words))} with {', '.join(strange[:5])}; a condition is one of "
            f"{_FORMS}, and an object that is meant as it stands is written {{eq: {{...}}}}"
        )
    for keys, read in _READERS:
        if given.keys() <= keys and (given.keys() - {"flags"}):
            return read(given)
    if words == {"flags"}:
        raise ValueError("flags belong to a regex: {regex, flags}")
    raise ValueError(f"holds {' and '.join(sorted(words))}, but a condition is only one of {_FORMS}")


def _equals(given: dict[str, Json]) -> MatcherForm:
    return Equals(_json(given["eq"]))


def _one_of(given: dict[str, Json]) -> MatcherForm:
    values = given["in"]
    if not isinstance(values, list | tuple) or not values:
        raise ValueError("in should be a list with at least one value")
    return OneOf(tuple(_json(value) for value in values))


def _matches(given: dict[str, Json]) -> MatcherForm:
    pattern, flags = given["regex"], given.get("flags", "")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= _LONGEST_PATTERN:
        raise ValueError(f"regex should be a pattern of 1 to {_LONGEST_PATTERN:,} characters")
    if not isinstance(flags, str) or len(flags) > _LONGEST_FLAGS:
        raise ValueError(f"flags should be a text of at most {_LONGEST_FLAGS} characters")
    return Matches(_text(pattern), _text(flags))


def _between(given: dict[str, Json]) -> MatcherForm:
    for name, bound in given.items():
        number = isinstance(bound, int | float) and not isinstance(bound, bool)
        if not number or not math.isfinite(bound):
            raise ValueError(f"{name} should be a number")
    low, high = given.get("gte"), given.get("lte")
    if low is not None and high is not None and low > high:
        raise ValueError(f"gte ({low}) is above lte ({high}), so no number can match")
    return Between(low, high)


def _of_type(given: dict[str, Json]) -> MatcherForm:
    wanted = given["type"]
    if wanted not in MATCHER_TYPES:
        raise ValueError(
            f"type should be one of {', '.join(MATCHER_TYPES)}; an object that is meant as it stands is "
            "written {eq: {type: ...}}"
        )
    return OfType(wanted)


def _flag(name: str, form: MatcherForm) -> Callable[[dict[str, Json]], MatcherForm]:
    def read(given: dict[str, Json]) -> MatcherForm:
        if given[name] is not True:
            raise ValueError(f"{name} can only be true: {{any: true}} or {{absent: true}}")
        return form

    return read


_READERS: tuple[tuple[frozenset[str], Callable[[dict[str, Json]], MatcherForm]], ...] = (
    (frozenset({"eq"}), _equals),
    (frozenset({"in"}), _one_of),
    (frozenset({"regex", "flags"}), _matches),
    (frozenset({"gte", "lte"}), _between),
    (frozenset({"type"}), _of_type),
    (frozenset({"any"}), _flag("any", Anything())),
    (frozenset({"absent"}), _flag("absent", Absent())),
)


def _json(value: Json, depth: int = 0) -> Json:
    """Check a value that is meant as it stands, to its bottom."""
    if depth > _DEEPEST:
        raise ValueError(f"is nested more than {_DEEPEST} levels deep")
    match value:
        case dict():
            for key, item in value.items():
                _text(key)
                _json(item, depth + 1)
            return value
        case list() | tuple():
            for item in value:
                _json(item, depth + 1)
            return value
        case _:
            return _plain(value)


def _plain(value: Json) -> Json:
    match value:
        case None | bool() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case str():
            return _text(value)
        case _:
            raise ValueError(f"holds {value!r:.40}, which is not a JSON value; write it as a text")


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise ValueError(f"has the key {text!r:.40}, which is not a text")  # noqa: TRY004 - pydantic reports it
    if reason := unstorable(text):
        raise ValueError(reason)
    return text


def _readable(value: Json) -> Json:
    read_matcher(value)
    return value


def _countable(value: Json) -> Json:
    """Check a matcher of a count: one that some whole number from 0 can meet."""

    def whole(number: Json) -> bool:
        return isinstance(number, int) and not isinstance(number, bool) and number >= 0

    match read_matcher(value):
        case Equals(value=number) if whole(number):
            return value
        case OneOf(values=numbers) if all(map(whole, numbers)):
            return value
        case Between(low=low, high=high) if high is None or high >= max(0, low or 0):
            return value
        case _:
            raise ValueError("a count is a whole number from 0, {in: [...]} of such, or {gte, lte}")


_SCHEMA = {
    "title": "Matcher",
    "description": (
        f"A value that must be equal, or a condition: {_FORMS}. Objects and lists may hold matchers; "
        "an object that is meant as it stands is written {eq: {...}}."
    ),
}

Matcher = Annotated[Json, AfterValidator(_readable), WithJsonSchema(_SCHEMA)]
"""A matcher as it is written; `read_matcher` reads it."""

Count = Annotated[
    Json,
    AfterValidator(_countable),
    WithJsonSchema(
        {"title": "Count", "description": "How often: a whole number, {in: [...]}, or {gte, lte}."}
    ),
]
"""A matcher of whole numbers."""
