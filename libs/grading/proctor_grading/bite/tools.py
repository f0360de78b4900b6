"""Mutants of tool calls: one left out, or one made with another argument."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from proctor_contracts.base import Json
from proctor_contracts.schemas.bite import MutantKind
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry
from proctor_grading.calls import arguments
from proctor_grading.canonical import canonical_json, same_json
from proctor_grading.text import excerpt

from .mutant import Made, Mutant, Original, ToolFault, skipped

__all__ = ["dropped", "leaves", "rearranged"]

_MOST = 20
_MOST_LEAVES = 8
_DEEPEST = 4
_LAST_DIGIT = re.compile(r"\d(?=\D*$)")
_SIMPLE_KEY = re.compile(r"[^.\[\]]+")


def dropped(original: Original) -> Made:
    """Leave out each call in turn; the words still say that it was made."""
    kind = MutantKind.TOOL_CALL_DROPPED
    calls = list(_calls(original))
    if not calls:
        return skipped(kind, "the reference calls no tool")
    made = []
    for number, (entry, place, call) in enumerate(calls[:_MOST], 1):
        kept = tuple(other for index, other in enumerate(entry.tool_calls) if index != place)
        same = sum(other.name == call.name for _, _, other in calls)
        made.append(
            Mutant(
                kind,
                f"{kind}:{number}:{call.name}",
                f"the call {_shown(call)} is left out",
                "the agent says that it acted, and did not",
                _exchanged(original, entry, entry.model_copy(update={"tool_calls": kept})),
                original.outcomes,
                ToolFault(call.name, same),
            )
        )
    return tuple(made)


def rearranged(original: Original) -> Made:
    """Change one argument of one call at a time."""
    kind = MutantKind.TOOL_ARGUMENT_CHANGED
    calls = list(_calls(original))
    if not calls:
        return skipped(kind, "the reference calls no tool")
    made: list[Mutant] = []
    for number, (entry, place, call) in enumerate(calls, 1):
        for path, value in leaves(arguments(call))[:_MOST_LEAVES]:
            if len(made) == _MOST:
                break
            other = _other(value)
            changed = call.model_copy(
                update={"args": _replaced(arguments(call), path, other), "args_raw": None}
            )
            entries = [changed if index == place else one for index, one in enumerate(entry.tool_calls)]
            plain = not any(isinstance(step, str) and "." in step for step in path)
            dotted = ".".join(map(str, path)) if plain else canonical_json(path)
            said = f"in {call.name}, {dotted} is {_json(other)} and not {_json(value)}"
            fault = _fault(call, path, value, [one for _, _, one in calls])
            made.append(
                Mutant(
                    kind,
                    f"{kind}:{number}:{call.name}:{dotted}",
                    said,
                    "the right tool does the wrong thing",
                    _exchanged(original, entry, entry.model_copy(update={"tool_calls": tuple(entries)})),
                    original.outcomes,
                    fault,
                )
            )
    return tuple(made) or skipped(kind, "the reference's calls have no argument")


def leaves(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Json]]:
    """List the single values inside arguments, each with its path; containers that are empty are one."""
    inside: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    if not inside or len(path) >= _DEEPEST:
        return [(path, value)] if path else []
    return [leaf for key, item in inside for leaf in leaves(item, (*path, key))]


def _fault(
    call: ToolCallRecord, path: tuple[str | int, ...], value: Json, calls: list[ToolCallRecord]
) -> ToolFault:
    of_tool = [one for one in calls if one.name == call.name]
    simple = all(isinstance(step, str) and _SIMPLE_KEY.fullmatch(step) for step in path)
    if not simple or isinstance(value, dict | list) or value is None:
        return ToolFault(call.name, len(of_tool))
    same = sum(
        any(place == path and same_json(found, value) for place, found in leaves(arguments(one)))
        for one in of_tool
    )
    return ToolFault(call.name, len(of_tool), ".".join(map(str, path)), value, same)


def _calls(original: Original) -> Iterator[tuple[TranscriptEntry, int, ToolCallRecord]]:
    for entry in original.replies:
        for place, call in enumerate(entry.tool_calls):
            yield entry, place, call


def _exchanged(original: Original, old: TranscriptEntry, new: TranscriptEntry) -> tuple[TranscriptEntry, ...]:
    return tuple(new if entry is old else entry for entry in original.transcript)


def _replaced(value: Json, path: tuple[str | int, ...], other: Json) -> Json:
    if not path:
        return other
    step, *rest = path
    if isinstance(value, Mapping):
        return {
            key: _replaced(item, tuple(rest), other) if key == step else item for key, item in value.items()
        }
    return [_replaced(item, tuple(rest), other) if key == step else item for key, item in enumerate(value)]


def _other(value: Json) -> Json:  # noqa: PLR0911 - one line a form
    """Make a value of the same form that is another."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1 if abs(value) < 2**53 else 0  # above, a float and its successor are the same
        case str() if found := _LAST_DIGIT.search(value):
            digit = str((int(found.group()) + 1) % 10)
            return value[: found.start()] + digit + value[found.end() :]
        case str():
            return f"{value}-x" if value else "x"
        case list():
            return ["x"]
        case dict():
            return {"x": 1}
        case _:
            return "x"


def _json(value: Json) -> str:
    return excerpt(canonical_json(value), limit=60)


def _shown(call: ToolCallRecord) -> str:
    args = arguments(call)
    return f"{call.name}({excerpt(canonical_json(args), limit=80) if args else ''})"
