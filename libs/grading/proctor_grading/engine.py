"""Where a case is graded: every assertion gets a finding, the judge's wait for the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from proctor_contracts.assertions import (
    Assertion,
    Contains,
    ContainsAll,
    ContainsAny,
    Cost,
    GroundedFacts,
    JsonSchema,
    Judge,
    Lang,
    Latency,
    NoPromptLeak,
    NotContains,
    Outcome,
    Precedes,
    Recovery,
    Regex,
    State,
    ToolArgs,
    ToolCall,
    ToolPolicy,
    ToolSequence,
)
from proctor_contracts.cases import CaseBudget
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.transcript import TranscriptEntry

from .context import GradingContext
from .conversation import Conversation
from .findings import Finding, unresolved
from .ledger import check_state
from .measures import budget_findings, check_cost, check_latency, check_outcome
from .order import check_precedes
from .policy import check_tool_policy
from .regex import PatientRegex
from .sequences import check_tool_sequence
from .texts import check_contains, check_contains_all, check_contains_any, check_not_contains, check_regex
from .tool_args import check_tool_args
from .tools import check_tool_call

__all__ = ["GradingContext", "budget_results", "grade", "graded"]

_PASSED_FLAG = {Verdict.PASSED: True, Verdict.FAILED: False}
_PENDING = Finding(Verdict.PENDING, "pending_judge", "waits for the judge")


def grade(
    assertions: Sequence[Assertion], transcript: Sequence[TranscriptEntry], context: GradingContext
) -> tuple[AssertionResult, ...]:
    """Decide every deterministic assertion; judge assertions come back pending.

    Never raises for what a case or a transcript holds. Blocks while patterns run, so it belongs on the
    thread kept for them.
    """
    conversation = Conversation(transcript)
    context = replace(context, regex=PatientRegex(context.regex))
    return tuple(
        graded(index, assertion, _guarded(assertion, conversation, context))
        for index, assertion in enumerate(assertions)
    )


def budget_results(
    budget: CaseBudget | None, transcript: Sequence[TranscriptEntry], context: GradingContext, *, start: int
) -> tuple[AssertionResult, ...]:
    """Check a case's own budget, numbered from `start`.

    The results are required and weigh nothing: a broken limit fails the case, a kept one does not raise
    its score.
    """
    if budget is None:
        return ()
    try:
        found = budget_findings(budget, Conversation(transcript), context)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not pass for a verdict on the agent
        found = [("budget", _crashed(error))]
    return tuple(
        _result(start + offset, kind, None, 0, required=True, finding=finding)
        for offset, (kind, finding) in enumerate(found)
    )


def graded(index: int, assertion: Assertion, finding: Finding) -> AssertionResult:
    """Tie a finding to its assertion."""
    return _result(
        index, assertion.kind, assertion.ref, assertion.weight, required=assertion.required, finding=finding
    )


def _guarded(assertion: Assertion, conversation: Conversation, context: GradingContext) -> Finding:
    try:
        return _check(assertion, conversation, context)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not pass for a verdict on the agent
        return _crashed(error)


def _check(assertion: Assertion, conversation: Conversation, context: GradingContext) -> Finding:  # noqa: C901, PLR0911, PLR0912 - one line per kind
    match assertion:
        case Contains():
            return check_contains(assertion, conversation)
        case NotContains():
            return check_not_contains(assertion, conversation)
        case ContainsAll():
            return check_contains_all(assertion, conversation)
        case ContainsAny():
            return check_contains_any(assertion, conversation)
        case Regex():
            return check_regex(assertion, conversation, context)
        case Lang():
            from .language import check_lang  # noqa: PLC0415 - its patterns take time to build

            return check_lang(assertion, conversation, context)
        case ToolCall():
            return check_tool_call(assertion, conversation, context)
        case ToolArgs():
            return check_tool_args(assertion, conversation, context)
        case ToolSequence():
            return check_tool_sequence(assertion, conversation, context)
        case ToolPolicy():
            return check_tool_policy(assertion, conversation, context)
        case Precedes():
            return check_precedes(assertion, conversation, context)
        case State():
            return check_state(assertion, conversation, context)
        case Recovery():
            from .recovery import check_recovery  # noqa: PLC0415 - its patterns take time to build

            return check_recovery(assertion, conversation, context)
        case Outcome():
            return check_outcome(assertion, context)
        case Latency():
            return check_latency(assertion, conversation)
        case Cost():
            return check_cost(assertion, conversation, context)
        case NoPromptLeak():
            from .leak import check_no_prompt_leak  # noqa: PLC0415 - seldom used

            return check_no_prompt_leak(assertion, conversation, context)
        case GroundedFacts():
            from .facts import check_grounded_facts  # noqa: PLC0415 - its patterns take time to build

            return check_grounded_facts(assertion, conversation)
        case JsonSchema():
            from .jsoncheck import check_json_schema  # noqa: PLC0415 - jsonschema takes time to import

            return check_json_schema(assertion, conversation, context)
        case Judge():
            return _PENDING
        case _:
            assert_never(assertion)


def _crashed(error: Exception) -> Finding:
    return unresolved("check_crashed", f"the check itself failed: {type(error).__name__}: {error}")


def _result(
    index: int, kind: str, ref: str | None, weight: int, *, required: bool, finding: Finding
) -> AssertionResult:
    return AssertionResult(
        index=index,
        kind=kind,
        ref=ref,
        weight=weight,
        required=required,
        verdict=finding.verdict,
        passed=_PASSED_FLAG.get(finding.verdict),
        code=finding.code,
        message=finding.message,
        expected=finding.expected,
        seen=finding.seen,
        where=finding.where,
        score=finding.score,
        notes=finding.notes,
        details=None if finding.details is None else dict(finding.details),
    )
