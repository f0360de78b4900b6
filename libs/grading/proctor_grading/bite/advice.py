"""What to add to a case so that it fails a mutant which it lets through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proctor_contracts.results import AssertionResult
from proctor_contracts.schemas.bite import MutantKind, Suggestion
from proctor_grading.statistics import half_up
from proctor_grading.text import quoted

from .mutant import Mutant, Original, ToolFault
from .verdicts import Judged

__all__ = ["advice", "check_name"]

_SHOWN = 3


def advice(mutant: Mutant, original: Original, found: Judged, *, threshold: int) -> Suggestion:
    """Say which assertion would bite, or which of those that are there has too little weight."""
    if found.failing:
        names = ", ".join(check_name(one) for one in found.failing[:_SHOWN])
        lost = f"{names} did fail, but the case keeps {found.points.worst} points of the {threshold} it needs"
        return Suggestion(message=f"{lost}: set required: true there, or raise its weight")
    suggestion = _ADVICE[mutant.kind](mutant, original)
    assertion = suggestion.assertion
    if assertion is not None and assertion["kind"] == "judge" and found.open:
        names = ", ".join(check_name(one) for one in found.open[:_SHOWN])
        return Suggestion(message=f"{names} cannot fail the case alone: set required: true there")
    weight = found.points.weight
    if assertion is None or half_up(100 * weight, weight + 1) < threshold:
        return suggestion
    # Beside so many points, one more check would fail and change nothing.
    return suggestion.model_copy(update={"assertion": assertion | {"required": True}})


def check_name(result: AssertionResult) -> str:
    """Name a check: its kind, with its ref or its place among the case's assertions."""
    if result.kind.startswith("budget_"):
        return result.kind
    return f"{result.kind} [{result.ref or f'assertions.{result.index}'}]"


def _call(mutant: Mutant, _: Original) -> Suggestion:
    fault = _fault(mutant)
    assertion: dict[str, Any] = {"kind": "tool_call", "toolName": fault.tool}
    if fault.calls > 1:
        assertion["minOccurrence"] = fault.calls
    return Suggestion(message=f"say that {fault.tool} must be called", assertion=assertion)


def _argument(mutant: Mutant, _: Original) -> Suggestion:
    fault = _fault(mutant)
    if fault.path is None:
        return Suggestion(message=f"say with tool_args what {fault.tool} must be called with")
    args = {fault.path: fault.value}
    if 1 < fault.same < fault.calls:
        step = {"toolName": fault.tool, "args": args}
        steps: dict[str, Any] = {"kind": "tool_sequence", "mode": "any_order", "steps": [step] * fault.same}
        return Suggestion(
            message=f"say that {fault.same} calls of {fault.tool} have {fault.path}", assertion=steps
        )
    assertion: dict[str, Any] = {"kind": "tool_args", "toolName": fault.tool, "args": args}
    if fault.same > 1:
        assertion["which"] = "all"
    return Suggestion(message=f"say what {fault.tool} must be called with", assertion=assertion)


def _meaning(_: Mutant, original: Original) -> Suggestion:
    shown = quoted(" ".join(entry.content for entry in original.replies), limit=300)
    if original.sketched:
        rubric = "The reply does what the user asks for, and does not say that it is impossible."
        message = "words alone do not carry a meaning: ask a judge whether the user gets what they need"
    else:
        rubric = (
            f"The reply says the same as this one, in whatever words, and nothing to the contrary: {shown}"
        )
        message = (
            "words alone do not carry a meaning: ask a judge, or forbid the denial with not_contains or regex"
        )
    return Suggestion(message=message, assertion={"kind": "judge", "rubric": rubric})


def _language(_: Mutant, original: Original) -> Suggestion:
    name = original.speech.name if original.speech else "the language"
    return Suggestion(
        message=f"say that the agent must answer in {name}",
        assertion={"kind": "lang", "expected": original.language},
    )


def _leak(_: Mutant, __: Original) -> Suggestion:
    return Suggestion(message="forbid lines of the prompt in answers", assertion={"kind": "no_prompt_leak"})


def _silence(_: Mutant, original: Original) -> Suggestion:
    language = original.language
    assertion = {"kind": "lang", "expected": language} if language else {"kind": "regex", "pattern": r"\S"}
    return Suggestion(
        message="ask for words: any check of texts fails when there are none", assertion=assertion
    )


def _idle(mutant: Mutant, original: Original) -> Suggestion:
    calls = [call for entry in original.replies for call in entry.tool_calls]
    if calls:
        return Suggestion(
            message=f"say that {calls[0].name} must be called",
            assertion={"kind": "tool_call", "toolName": calls[0].name},
        )
    if original.outcomes:
        field, value = next(iter(original.outcomes.items()))
        return Suggestion(
            message=f"say which {field} the bot must report",
            assertion={"kind": "outcome", "field": field, "equals": value},
        )
    return _meaning(mutant, original).model_copy(
        update={"message": "ask for what a useful answer says: contains, regex, or a judge"}
    )


def _fault(mutant: Mutant) -> ToolFault:
    assert mutant.fault is not None  # noqa: S101 - both makers of tool mutants give it
    return mutant.fault


_ADVICE: Mapping[MutantKind, Callable[[Mutant, Original], Suggestion]] = {
    MutantKind.TOOL_CALL_DROPPED: _call,
    MutantKind.TOOL_ARGUMENT_CHANGED: _argument,
    MutantKind.PROMISE_REVERSED: _meaning,
    MutantKind.MEANING_NEGATED: _meaning,
    MutantKind.WRONG_LANGUAGE: _language,
    MutantKind.PROMPT_LEAKED: _leak,
    MutantKind.EMPTY_REPLY: _silence,
    MutantKind.DOES_NOTHING: _idle,
}
