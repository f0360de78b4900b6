"""Whether a case's reference solution passes the case's own deterministic checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proctor_contracts.cases import CaseFields, Reference, ScriptedMulti, ScriptedSingle
from proctor_contracts.effects import Effect
from proctor_contracts.enums import Role
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.transcript import SCRIPTED, TranscriptEntry

from .context import GradingContext
from .engine import budget_results, grade
from .lint import CaseProblem

__all__ = ["check_reference", "reference_problems", "reference_transcript"]

_UNMEASURED = frozenset({"latency", "cost", "judge", "budget_latency", "budget_cost", "budget_tokens"})
_UNKNOWN = frozenset({"no_prompt", "no_effect_ledger"})
_GOOD = frozenset({Verdict.PASSED, Verdict.NOT_APPLICABLE})
_BUDGET_FIELDS = {"budget_tool_calls": "budget.maxToolCalls"}


def check_reference(case: CaseFields, context: GradingContext) -> tuple[AssertionResult, ...]:
    """Return the checks that the reference solution does not pass; empty without one, or when it is good.

    The case's limit of tool calls follows its assertions. Time, cost, the judge and a prompt that is not
    known are left out: a text on paper has none. The reference states its own tool calls and outcomes; what
    its calls write is not known, but one without calls writes nothing.
    """
    if case.reference is None:
        return ()
    calls = any(message.tool_calls for message in case.reference.messages)
    nothing: Sequence[Effect] | None = None if calls else ()
    known = replace(context, tools_captured=True, outcomes=case.reference.outcomes, effects=nothing)
    transcript = reference_transcript(case, case.reference)
    results = grade(case.assertions, transcript, known)
    results += budget_results(case.budget, transcript, known, start=len(results))
    return tuple(
        result
        for result in results
        if result.verdict not in _GOOD and result.kind not in _UNMEASURED and result.code not in _UNKNOWN
    )


def reference_problems(case: CaseFields, context: GradingContext) -> list[CaseProblem]:
    """Say why a case cannot be saved with its reference solution, check by check."""
    return [_problem(result) for result in check_reference(case, context)]


def _problem(result: AssertionResult) -> CaseProblem:
    path = _BUDGET_FIELDS.get(result.kind)
    named = result.kind if result.ref is None else f"{result.kind} {result.ref!r}"
    check = f"this check ({named})" if path is None else "this limit"
    message = f"the reference solution does not pass {check}: {result.message}"
    return CaseProblem(path or f"assertions.{result.index}", message)


def reference_transcript(case: CaseFields, reference: Reference) -> tuple[TranscriptEntry, ...]:
    """Interleave the user messages with the reference replies, one a turn; what is left over follows."""
    replies = [
        TranscriptEntry(role=Role.AGENT, content=message.content, tool_calls=message.tool_calls)
        for message in reference.messages
    ]
    entries: list[TranscriptEntry] = []
    for line in _script(case):
        entries.append(line)
        if line.role is Role.TESTER and replies:
            entries.append(replies.pop(0))
    return (*entries, *replies)


def _script(case: CaseFields) -> Sequence[TranscriptEntry]:
    match case.input:
        case ScriptedSingle(message=message):
            return [TranscriptEntry(role=Role.TESTER, content=message)]
        case ScriptedMulti(messages=messages):
            return [
                TranscriptEntry(role=Role.TESTER, content=line.content)
                if line.role == "user"
                else TranscriptEntry(role=Role.AGENT, content=line.content, finish=SCRIPTED)
                for line in messages
            ]
