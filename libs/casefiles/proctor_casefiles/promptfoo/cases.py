"""The tests of a configuration: defaults joined in, lists of values spread out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor_casefiles.documents import Path

from .notes import Unportable

__all__ = ["Asserted", "Lost", "Spread", "assertions", "spread"]

Lost = tuple[Path, str]

_MOST = 200


@dataclass(frozen=True, slots=True)
class Asserted:
    """An assertion with its place; `weight` is its own, times that of the set it stands in."""

    value: Mapping[str, Any]
    path: Path
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Spread:
    """One test with one value for each variable; `number` counts those of the same test from 1."""

    values: Mapping[str, Any]
    number: int
    of: int


def spread(variables: Any, defaults: Any) -> list[Spread]:
    """Make a test of every combination of variables that are lists, as promptfoo does.

    Raises:
        Unportable: when the variables stand in a file, or the combinations are too many.
    """
    for given in (variables, defaults):
        if given is not None and not isinstance(given, dict):
            raise Unportable("takes its variables from a file, which is not read")
    joined = {**(defaults or {}), **(variables or {})}
    lists = {name: value for name, value in joined.items() if isinstance(value, list) and value}
    count = 1
    for value in lists.values():
        count *= len(value)
        if count > _MOST:
            raise Unportable(f"stands for more than {_MOST} tests, one for each combination of its variables")
    combinations = itertools.product(*lists.values())
    return [
        Spread({**joined, **dict(zip(lists, combination, strict=True))}, number, count)
        for number, combination in enumerate(combinations, start=1)
    ]


def assertions(given: Any, path: Path, templates: Mapping[str, Any]) -> Iterator[Asserted | Lost]:
    """Yield every assertion, those of sets among them, and with its reason what stands there but is none."""
    if given is None:
        return
    if not isinstance(given, list):
        yield path, "is a list of assertions"
        return
    for index, item in enumerate(given):
        at = (*path, index)
        try:
            value, weight = _resolved(item, templates)
            members = _members(value)
        except Unportable as error:
            yield at, error.reason
            continue
        if members is None:
            yield Asserted(value, at, weight)
            continue
        for number, member in enumerate(members):
            inner = (*at, "assert", number)
            try:
                value, own = _resolved(member, templates)
                if _members(value) is not None:
                    raise Unportable("assert-set inside an assert-set")  # noqa: TRY301 - as what it calls
            except Unportable as error:
                yield inner, error.reason
            else:
                yield Asserted(value, inner, weight * own / len(members))


def _resolved(item: Any, templates: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
    """Put a template in place of its name, and read the weight."""
    if not isinstance(item, dict):
        raise Unportable("is an object {type, value}")
    if isinstance(named := item.get("$ref"), str):
        name = named.rsplit("/", 1)[-1]
        if not isinstance(templates.get(name), dict):
            raise Unportable(f"names the template {name}, which is not in assertionTemplates")
        item = {**templates[name], **{key: value for key, value in item.items() if key != "$ref"}}
    weight = item.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
        raise Unportable("has a weight that is no number")
    if weight == 0:
        raise Unportable("weighs nothing: it only measures, and a check here always counts")
    return item, weight


def _members(value: Mapping[str, Any]) -> Sequence[Any] | None:
    """Give the assertions of a set, or None for an assertion of its own."""
    if value.get("type") != "assert-set":
        return None
    if value.get("threshold", 1) != 1:
        raise Unportable("assert-set with a threshold of its own: a case has one for all its checks")
    members = value.get("assert")
    if not isinstance(members, list) or not members:
        raise Unportable("assert-set holds no assertions")
    return members
