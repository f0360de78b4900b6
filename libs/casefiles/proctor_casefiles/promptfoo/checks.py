"""promptfoo's assertions as checks of cases, kind by kind."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from .notes import Unportable
from .tools import FORBIDDEN_TOOLS, TOOL_CHECKS

__all__ = ["Check", "converted"]

Check = dict[str, Any]
_LONGEST_PATTERN = 2_000
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def converted(assertion: Mapping[str, Any]) -> list[Check]:
    """Turn one assertion, its templates filled in, into the checks that say the same.

    Raises:
        Unportable: when there are none.
    """
    kind = assertion.get("type")
    if not isinstance(kind, str):
        raise Unportable("has no type")
    negated = kind.startswith("not-")
    base = kind.removeprefix("not-")
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith("file://"):
        raise Unportable(f"{kind} takes its value from a file ({value}), which is not read")
    for key in ("transform", "contextTransform"):
        if assertion.get(key):
            raise Unportable(f"{kind} has a {key}, which is code")
    if (make := (_NEGATED if negated else _PLAIN).get(base)) is None:
        raise Unportable(f"{kind}: {_why(base, negated=negated)}")
    return make(value, assertion)


def _why(base: str, *, negated: bool) -> str:
    if base in _REASONS:
        return _REASONS[base]
    if negated and base in _PLAIN:
        return "there is no check that says its opposite"
    return "there is no such check here"


_REASONS = {
    "javascript": "it is code; say the same with other checks",
    "python": "it is code; say the same with other checks",
    "ruby": "it is code; say the same with other checks",
    "webhook": "checks by a service of one's own are not made",
    "similar": "nearness of meaning is not measured; use a judge",
    "select-best": "answers are compared with checks, not with each other",
    "max-score": "answers are compared with checks, not with each other",
    "human": "nobody is asked while a run goes on",
}


def _texts(value: Any) -> list[str]:
    """Read several texts: a list, or one text with commas between them."""
    if isinstance(value, str):
        value = next(csv.reader([value], skipinitialspace=True), [])
    if not isinstance(value, list) or not value:
        raise Unportable("needs a list of texts")
    return [_one(item) for item in value]


def _one(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float) and str(value):
        return str(value)
    raise Unportable("needs a text")


def _contains(kind: str, *, fold: bool) -> Callable[[Any, Mapping[str, Any]], list[Check]]:
    def make(value: Any, _: Mapping[str, Any]) -> list[Check]:
        return [{"kind": kind, "value": _one(value), **_folded(fold)}]

    return make


def _several(kind: str, *, fold: bool) -> Callable[[Any, Mapping[str, Any]], list[Check]]:
    def make(value: Any, _: Mapping[str, Any]) -> list[Check]:
        return [{"kind": kind, "values": _texts(value), **_folded(fold)}]

    return make


def _none_of(*, fold: bool) -> Callable[[Any, Mapping[str, Any]], list[Check]]:
    def make(value: Any, _: Mapping[str, Any]) -> list[Check]:
        return [{"kind": "not_contains", "value": text, **_folded(fold)} for text in _texts(value)]

    return make


def _folded(fold: bool) -> Check:  # noqa: FBT001 - one word of a table
    return {"caseInsensitive": True} if fold else {}


def _pattern(
    *, start: str = "", end: str = "", must_match: bool
) -> Callable[[Any, Mapping[str, Any]], list[Check]]:
    """Say a fixed text as a pattern, anchored at one end or both."""

    def make(value: Any, _: Mapping[str, Any]) -> list[Check]:
        if isinstance(value, dict | list):
            if not must_match or not end:
                raise Unportable("compares with a JSON value")
            return [{"kind": "json_schema", "where": "whole", "schema": {"const": value}}]
        pattern = (
            start + _SPECIAL.sub(r"\\\g<0>", _one(value)).replace("\n", r"\n").replace("\r", r"\r") + end
        )
        return _regex(pattern, must_match=must_match)

    return make


def _regex(pattern: str, *, must_match: bool) -> list[Check]:
    if len(pattern) > _LONGEST_PATTERN:
        raise Unportable(f"its text is longer than a pattern may be ({_LONGEST_PATTERN:,} characters)")
    return [{"kind": "regex", "pattern": pattern, **({} if must_match else {"mustMatch": False})}]


def _json(where: str) -> Callable[[Any, Mapping[str, Any]], list[Check]]:
    def make(value: Any, _: Mapping[str, Any]) -> list[Check]:
        schema = value
        if isinstance(value, str):
            try:
                schema = json.loads(value)
            except ValueError as error:
                raise Unportable("its value is no JSON Schema") from error
        if schema is None:
            schema = True
        if not isinstance(schema, dict | bool):
            raise Unportable("its value is no JSON Schema")
        return [{"kind": "json_schema", "where": where, "schema": schema}]

    return make


def _judge(lead: str = "") -> Callable[[Any, Mapping[str, Any]], list[Check]]:
    def make(value: Any, _: Mapping[str, Any]) -> list[Check]:
        criteria = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) and one.strip() for one in criteria):
            raise Unportable("needs a criterion in words")
        return [{"kind": "judge", "rubric": lead + one} for one in criteria]

    return make


def _limit(kind: str, field: str, factor: int) -> Callable[[Any, Mapping[str, Any]], list[Check]]:
    def make(_: Any, assertion: Mapping[str, Any]) -> list[Check]:
        threshold = assertion.get("threshold")
        if isinstance(threshold, bool) or not isinstance(threshold, int | float):
            raise Unportable("needs a threshold")
        limit = Decimal(str(threshold)) * factor
        return [{"kind": kind, field: int(limit) if limit == int(limit) else float(limit)}]

    return make


_PLAIN: Mapping[str, Callable[[Any, Mapping[str, Any]], list[Check]]] = {
    "contains": _contains("contains", fold=False),
    "icontains": _contains("contains", fold=True),
    "contains-all": _several("contains_all", fold=False),
    "icontains-all": _several("contains_all", fold=True),
    "contains-any": _several("contains_any", fold=False),
    "icontains-any": _several("contains_any", fold=True),
    "equals": _pattern(start="^", end="$", must_match=True),
    "starts-with": _pattern(start="^", must_match=True),
    "regex": lambda value, _: _regex(_one(value), must_match=True),
    "is-json": _json("whole"),
    "contains-json": _json("embedded"),
    "latency": _limit("latency", "maxMs", 1),
    "cost": _limit("cost", "maxCents", 100),
    "llm-rubric": _judge(),
    "model-graded-closedqa": _judge(),
    "g-eval": _judge(),
    "factuality": _judge("The answer agrees with this and contradicts none of it: "),
    "trajectory:goal-success": _judge("By the end of the conversation this goal is reached: "),
    **TOOL_CHECKS,
}
_NEGATED: Mapping[str, Callable[[Any, Mapping[str, Any]], list[Check]]] = {
    "contains": _contains("not_contains", fold=False),
    "icontains": _contains("not_contains", fold=True),
    "contains-any": _none_of(fold=False),
    "icontains-any": _none_of(fold=True),
    "equals": _pattern(start="^", end="$", must_match=False),
    "starts-with": _pattern(start="^", must_match=False),
    "regex": lambda value, _: _regex(_one(value), must_match=False),
    "trajectory:tool-used": FORBIDDEN_TOOLS,
}
