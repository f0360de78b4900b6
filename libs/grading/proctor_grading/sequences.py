"""The `tool_sequence` check: the agent's calls as a whole, compared with steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor_contracts.base import Json
from proctor_contracts.matchers import MatcherForm, read_matcher
from proctor_contracts.tool_assertions import ArgsMatch, SequenceMode, ToolSequence, ToolStep
from proctor_contracts.transcript import ToolCallRecord

from .assignment import Fits, common_order, f1, holds, maximum_matching
from .calls import arguments, shown, unreadable
from .context import GradingContext, RegexEngine
from .conversation import Call, Conversation
from .findings import Finding, failed, passed, unresolved
from .matching import Answer, Undecided, mismatches, settled
from .text import excerpt, nfc
from .tool_args import expected_args

__all__ = ["check_tool_sequence"]

_LISTED = 20
_ORDERED = {SequenceMode.EXACT, SequenceMode.IN_ORDER}
_STRICT = {SequenceMode.EXACT, SequenceMode.UNORDERED, SequenceMode.SUBSET}


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    shown: str
    args: Mapping[str, MatcherForm] | None
    match: ArgsMatch


def check_tool_sequence(check: ToolSequence, conversation: Conversation, context: GradingContext) -> Finding:
    """All calls of the agent stand to the steps as the mode says; failed calls count.

    The score is the F1 of steps and calls, in the modes with an order that of the longest common order.
    """
    steps = tuple(map(_read, check.steps))
    expected = _expectation(check.mode, steps)
    if refused := unreadable(conversation, context, expected):
        return refused
    calls = conversation.calls
    answers = _answers(steps, calls, context.regex)
    sure = [[answer is True for answer in row] for row in answers]
    hopeful = [[answer is not False for answer in row] for row in answers]
    verdict = holds(check.mode, sure, len(calls))
    if verdict is not holds(check.mode, hopeful, len(calls)):
        why = next(answer for row in answers for answer in row if isinstance(answer, Undecided))
        return unresolved(why.code, f"args: {why.reason}", expected=expected, seen=shown(calls))
    if check.mode is SequenceMode.FORBIDDEN:
        return passed() if verdict else _forbidden(steps, calls, sure, expected)
    pairs = maximum_matching(sure, len(calls))
    plain = f1(len(pairs), len(steps), len(calls))
    ordered = f1(common_order(sure, len(calls)), len(steps), len(calls))
    missing = [steps[index].shown for index in range(len(steps)) if index not in pairs]
    extra = [index for index in range(len(calls)) if index not in set(pairs.values())]
    details: dict[str, Json] = {
        "steps": len(steps),
        "calls": len(calls),
        "matched": len(pairs),
        "f1": round(plain, 6),
        "orderedF1": round(ordered, 6),
        "missing": [excerpt(text, limit=120) for text in missing[:_LISTED]],
        "unexpected": [calls[index].record.name for index in extra[:_LISTED]],
    }
    score = ordered if check.mode in _ORDERED else plain
    if verdict:
        return passed(score=score, details=details)
    if missing and check.mode is not SequenceMode.SUBSET:
        code, at = "call_missing", None
        message = f"no call answers {', '.join(missing[:5])}"
    elif extra and check.mode in _STRICT:
        code, at = "unexpected_call", calls[extra[0]].entry
        named = ", ".join(f"call {index + 1} ({calls[index].record.name})" for index in extra[:5])
        message = f"no step is left for {named}"
    else:
        index = _first_out_of_order(check.mode, sure, len(calls))
        code, at = "wrong_order", calls[min(index, len(calls) - 1)].entry
        message = f"every step has a call, but {steps[index].shown} (step {index + 1}) not in its place"
    return failed(code, message, expected=expected, seen=shown(calls), at=at, score=score, details=details)


def _read(step: ToolStep) -> _Step:
    args = None if step.args is None else {path: read_matcher(one) for path, one in step.args.items()}
    told = step.tool_name if args is None else f"{step.tool_name}({expected_args(args, step.match)})"
    return _Step(nfc(step.tool_name), told, args, step.match)


def _answers(steps: Sequence[_Step], calls: Sequence[Call], regex: RegexEngine) -> list[list[Answer]]:
    names = [nfc(call.record.name) for call in calls]
    return [
        [
            name == step.name and _answers_step(step, call.record, regex)
            for name, call in zip(names, calls, strict=True)
        ]
        for step in steps
    ]


def _answers_step(step: _Step, record: ToolCallRecord, regex: RegexEngine) -> Answer:
    if step.args is None:
        return True
    return settled(mismatches(step.args, arguments(record), match=step.match, regex=regex))


def _forbidden(steps: Sequence[_Step], calls: tuple[Call, ...], sure: Fits, expected: str) -> Finding:
    made = [index for index in range(len(calls)) if any(row[index] for row in sure)]
    step = next(step for step, row in zip(steps, sure, strict=True) if row[made[0]])
    return failed(
        "forbidden_call",
        f"call {made[0] + 1} ({calls[made[0]].record.name}) is forbidden by {step.shown}",
        expected=expected,
        seen=shown(calls),
        at=calls[made[0]].entry,
        details={"calls": len(calls), "forbidden": [calls[index].record.name for index in made[:_LISTED]]},
    )


def _first_out_of_order(mode: SequenceMode, sure: Fits, calls: int) -> int:
    """Find the first step that the calls, followed from the start, do not reach."""
    at = 0
    for index, row in enumerate(sure):
        if mode is SequenceMode.EXACT:
            if not row[index]:
                return index
            continue
        at = next((call + 1 for call in range(at, calls) if row[call]), calls + 1)
        if at > calls:
            return index
    return 0


_MODES = {
    SequenceMode.EXACT: "exactly these calls in this order",
    SequenceMode.IN_ORDER: "these calls in this order",
    SequenceMode.ANY_ORDER: "these calls in any order",
    SequenceMode.UNORDERED: "exactly these calls in any order",
    SequenceMode.SUBSET: "no calls but these",
    SequenceMode.FORBIDDEN: "none of these calls",
}


def _expectation(mode: SequenceMode, steps: Sequence[_Step]) -> str:
    return f"{_MODES[mode]}: {', '.join(step.shown for step in steps) or 'none'}"
