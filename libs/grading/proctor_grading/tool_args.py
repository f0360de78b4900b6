"""The `tool_args` check: the right tool with the right arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from proctor_contracts.base import Json
from proctor_contracts.matchers import MatcherForm, read_matcher
from proctor_contracts.tool_assertions import ArgsMatch, ToolArgs, WhichCalls

from .calls import arguments, named, shown, times, unreadable
from .context import GradingContext
from .conversation import Call, Conversation
from .findings import Finding, failed, passed, unresolved
from .matching import Answer, Mismatch, Undecided, all_of, any_of, described, mismatches, settled

__all__ = ["check_tool_args", "expected_args"]

_SHOWN = 4
_LISTED = 20


def check_tool_args(check: ToolArgs, conversation: Conversation, context: GradingContext) -> Finding:
    """Some call of a tool, every one, its first or its last has the arguments; failed calls count.

    A pattern that gives no answer leaves the check unresolved only where the other calls do not settle it.
    """
    wanted = {path: read_matcher(matcher) for path, matcher in check.args.items()}
    expected = f"{_WHICH[check.which]} of {check.tool_name} with {expected_args(wanted, check.match)}"
    if refused := unreadable(conversation, context, expected):
        return refused
    calls = named(conversation, check.tool_name)
    if not calls:
        return failed(
            "tool_not_called",
            f"{check.tool_name} was not called",
            expected=expected,
            seen=shown(conversation.calls),
            details={"calls": 0},
        )
    read = _of_interest(calls, check.which)

    def differences(call: Call) -> list[Mismatch]:
        found = mismatches(wanted, arguments(call.record), match=check.match, regex=context.regex)
        return list(found)

    answers: list[tuple[Call, Answer]] = []
    for call in read:
        answers.append((call, settled(differences(call))))
        if answers[-1][1] is (check.which is WhichCalls.ANY):
            break
    combine = any_of if check.which is WhichCalls.ANY else all_of
    match combine(answer for _, answer in answers):
        case True:
            return passed(at=answers[-1][0].entry)
        case Undecided(code=code, reason=reason):
            return unresolved(code, f"args: {reason}", expected=expected, seen=shown(calls))
        case _:
            missed = [(call, differences(call)) for call, answer in answers if answer is False]
            return _differing(check, expected, calls, missed)


_WHICH = {
    WhichCalls.ANY: "a call",
    WhichCalls.ALL: "every call",
    WhichCalls.FIRST: "the first call",
    WhichCalls.LAST: "the last call",
}


def expected_args(wanted: Mapping[str, MatcherForm], match: ArgsMatch) -> str:
    """Show stated arguments in a sentence."""
    told = ", ".join(f"{path}: {described(matcher)}" for path, matcher in wanted.items())
    match match:
        case ArgsMatch.CONTAINS:
            return told
        case ArgsMatch.EXACT:
            return f"exactly {told}" if told else "no arguments"
        case ArgsMatch.WITHIN:
            return f"nothing but {told}" if told else "no arguments"
        case _:
            assert_never(match)


def _of_interest(calls: Sequence[Call], which: WhichCalls) -> Sequence[Call]:
    match which:
        case WhichCalls.ANY | WhichCalls.ALL:
            return calls
        case WhichCalls.FIRST:
            return calls[:1]
        case WhichCalls.LAST:
            return calls[-1:]
        case _:
            assert_never(which)


def _differing(
    check: ToolArgs, expected: str, calls: tuple[Call, ...], missed: Sequence[tuple[Call, list[Mismatch]]]
) -> Finding:
    """Explain by the call that comes closest, or of all calls by the first that differs."""
    call, found = missed[0] if check.which is WhichCalls.ALL else min(missed, key=lambda one: len(one[1]))
    number = next(index for index, other in enumerate(calls, 1) if other is call)
    which = f"call {number} of {len(calls)}: " if len(calls) > 1 else ""
    told = "; ".join(mismatch.told for mismatch in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    listed: Json = [{"path": one.path, "expected": one.expected, "seen": one.seen} for one in found[:_LISTED]]
    return failed(
        "args_differ",
        f"{check.tool_name} was called {times(len(calls))}, but {which}{told}{more}",
        expected=expected,
        seen=shown(calls),
        at=call.entry,
        details={"calls": len(calls), "call": number, "differences": listed},
    )
