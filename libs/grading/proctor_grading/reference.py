"""Whether a case's reference solution passes the case's own deterministic checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proctor_contracts.cases import CaseFields, Reference, ScriptedMulti, ScriptedSingle
from proctor_contracts.enums import Role
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.transcript import SCRIPTED, TranscriptEntry

from .context import GradingContext
from .engine import grade

__all__ = ["check_reference", "reference_transcript"]

_UNMEASURED = frozenset({"latency", "cost", "judge", "state"})


def check_reference(case: CaseFields, context: GradingContext) -> tuple[AssertionResult, ...]:
    """Return the checks that the reference solution does not pass; empty without one, or when it is good.

    Time, cost, the judge, a ledger of writes and a prompt that is not known are left out: a text on paper has
    none. The reference states its own tool calls and outcomes.
    """
    if case.reference is None:
        return ()
    known = replace(context, tools_captured=True, outcomes=case.reference.outcomes)
    results = grade(case.assertions, reference_transcript(case, case.reference), known)
    good = {Verdict.PASSED, Verdict.NOT_APPLICABLE}
    return tuple(
        result
        for result in results
        if result.verdict not in good and result.kind not in _UNMEASURED and result.code != "no_prompt"
    )


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
