"""Whether a value meets a matcher, and in which places it does not; a pattern may leave it undecided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.base import Json
from proctor_contracts.matchers import (
    Absent,
    Anything,
    Between,
    Equals,
    Items,
    MatcherForm,
    Matches,
    OfType,
    OneOf,
    Shape,
)
from proctor_contracts.tool_assertions import ArgsMatch

from .canonical import ABSENT, canonical_json, same_json, value_at
from .context import RegexAnswer, RegexEngine, RegexFound, RegexInvalid, RegexLimit, RegexMissing
from .text import excerpt

__all__ = [
    "Answer",
    "Mismatch",
    "Undecided",
    "all_of",
    "any_of",
    "decided",
    "described",
    "meets",
    "mismatches",
    "pattern_text",
    "settled",
]


@dataclass(frozen=True, slots=True)
class Undecided:
    """A pattern gave no answer: it does not compile, or a limit was hit."""

    code: str
    reason: str


Answer = bool | Undecided


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A place where a value does not meet its matcher; without `wanted` nothing was expected there."""

    path: str
    wanted: MatcherForm | None
    value: Json
    undecided: Undecided | None = None

    @property
    def seen(self) -> str:
        """The value as it is shown."""
        return "missing" if self.value is ABSENT else excerpt(canonical_json(self.value), limit=80)

    @property
    def expected(self) -> str:
        """The matcher as it is shown."""
        return "nothing there" if self.wanted is None else described(self.wanted)

    @property
    def told(self) -> str:
        """The mismatch in a sentence."""
        if self.wanted is None:
            return f"{self.path} is {self.seen}, which is not expected"
        return f"{self.path} is {self.seen}, expected {self.expected}"


def decided(answer: RegexAnswer) -> Answer:
    """Reduce what a pattern found to yes, no or undecided."""
    match answer:
        case RegexFound():
            return True
        case RegexMissing():
            return False
        case RegexInvalid(reason=reason):
            return Undecided("invalid_pattern", reason)
        case RegexLimit(code=code, reason=reason):
            return Undecided(code, reason)
        case _:
            assert_never(answer)


def all_of(answers: Iterable[Answer]) -> Answer:
    """Say whether every answer is yes; one no settles it, whatever is undecided."""
    open_: Answer = True
    for answer in answers:
        if answer is False:
            return False
        if answer is not True and open_ is True:
            open_ = answer
    return open_


def any_of(answers: Iterable[Answer]) -> Answer:
    """Say whether some answer is yes; one yes settles it, whatever is undecided."""
    open_: Answer = False
    for answer in answers:
        if answer is True:
            return True
        if answer is not False and open_ is False:
            open_ = answer
    return open_


def settled(found: Iterable[Mismatch]) -> Answer:
    """Say whether there is no mismatch."""
    return all_of(mismatch.undecided or False for mismatch in found)


def meets(wanted: MatcherForm, value: Json, regex: RegexEngine) -> Answer:
    """Say whether one value meets a matcher; objects may hold more keys than stated."""
    return settled(_differs(wanted, value, "value", ArgsMatch.CONTAINS, regex))


def mismatches(
    wanted: Mapping[str, MatcherForm], value: Json, *, match: ArgsMatch, regex: RegexEngine
) -> Iterator[Mismatch]:
    """List where a value does not meet matchers by dot path.

    `contains` allows what is not named, `exact` does not, `within` does not either but lets named values be
    missing; the same holds inside objects that stand in a matcher.
    """
    for path, matcher in wanted.items():
        found = value_at(value, path)
        if found is not ABSENT or match is not ArgsMatch.WITHIN:
            yield from _differs(matcher, found, path, match, regex)
    if match is not ArgsMatch.CONTAINS:
        for path, found in _unnamed(value, "", wanted):
            yield Mismatch(path, None, found)


def _differs(  # noqa: C901 - one case per kind of matcher
    wanted: MatcherForm, value: Json, path: str, match: ArgsMatch, regex: RegexEngine
) -> Iterator[Mismatch]:
    match wanted:
        case Shape(fields=fields) if isinstance(value, dict):
            for key, matcher in fields.items():
                inner = value.get(key, ABSENT)
                if inner is not ABSENT or match is not ArgsMatch.WITHIN:
                    yield from _differs(matcher, inner, f"{path}.{key}", match, regex)
            if match is not ArgsMatch.CONTAINS:
                for key in value.keys() - fields.keys():
                    yield Mismatch(f"{path}.{key}", None, value[key])
        case Items(items=items) if isinstance(value, list | tuple) and len(value) == len(items):
            for index, (matcher, inner) in enumerate(zip(items, value, strict=True)):
                yield from _differs(matcher, inner, f"{path}.{index}", match, regex)
        case Shape() | Items():
            yield Mismatch(path, wanted, value)
        case Matches(pattern=pattern, flags=flags):
            answer = value is not ABSENT and value is not None and _found(pattern, flags, value, regex)
            if answer is not True:
                yield Mismatch(path, wanted, value, answer or None)
        case _:
            if not _holds(wanted, value):
                yield Mismatch(path, wanted, value)


def _found(pattern: str, flags: str, value: Json, regex: RegexEngine) -> Answer:
    text = value if isinstance(value, str) else canonical_json(value)
    return decided(regex.search(pattern, flags, text))


def _holds(  # noqa: PLR0911 - one line per kind of matcher
    wanted: Equals | OneOf | Between | OfType | Anything | Absent, value: Json
) -> bool:
    missing = value is ABSENT or value is None
    match wanted:
        case Absent():
            return missing
        case Anything():
            return not missing
        case _ if value is ABSENT:
            return False
        case Equals(value=other):
            return same_json(value, other)
        case OneOf(values=others):
            return any(same_json(value, other) for other in others)
        case Between(low=low, high=high):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and (low is None or value >= low) and (high is None or value <= high)
        case OfType(type=kind):
            return kind in _types(value)
        case _:
            assert_never(wanted)


def _types(value: Json) -> tuple[str, ...]:  # noqa: PLR0911 - one line per type
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("integer", "number") if value.is_integer() else ("number",)
        case str():
            return ("string",)
        case dict():
            return ("object",)
        case _:
            return ("array",)


def _unnamed(value: Json, prefix: str, named: Mapping[str, MatcherForm]) -> Iterator[tuple[str, Json]]:
    """List what no path names; an object of which a path names a part is looked into."""
    match value:
        case dict():
            items: Iterable[tuple[str, Json]] = value.items()
        case list() | tuple():
            items = ((str(index), item) for index, item in enumerate(value))
        case _:
            if prefix or value is not None:
                yield prefix.removesuffix(".") or "arguments", value
            return
    for key, item in items:
        path = f"{prefix}{key}"
        if path in named:
            continue
        if any(name.startswith(f"{path}.") for name in named):
            yield from _unnamed(item, f"{path}.", named)
        else:
            yield path, item


def described(wanted: MatcherForm) -> str:  # noqa: C901, PLR0911 - one line per kind of matcher
    """Show a matcher in a sentence."""
    match wanted:
        case Equals(value=value):
            return excerpt(canonical_json(value), limit=80)
        case OneOf(values=values):
            return " or ".join(excerpt(canonical_json(value), limit=40) for value in values[:8])
        case Matches(pattern=pattern, flags=flags):
            return f"a match of {pattern_text(pattern, flags)}"
        case Between(low=low, high=None):
            return f"a number from {canonical_json(low)}"
        case Between(low=None, high=high):
            return f"a number up to {canonical_json(high)}"
        case Between(low=low, high=high):
            return f"a number from {canonical_json(low)} to {canonical_json(high)}"
        case OfType(type=kind):
            return f"a value of type {kind}"
        case Anything():
            return "any value"
        case Absent():
            return "no value"
        case Shape(fields=fields):
            return "{" + ", ".join(f"{key}: {described(inner)}" for key, inner in fields.items()) + "}"
        case Items(items=items):
            return "[" + ", ".join(map(described, items)) + "]"
        case _:
            assert_never(wanted)


def pattern_text(pattern: str, flags: str) -> str:
    """Show a pattern as JavaScript writes it."""
    return excerpt(f"/{pattern}/{flags}", limit=120)
