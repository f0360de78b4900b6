"""The `recovery` check: what the agent does after a call of a tool has failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.base import Json
from proctor_contracts.tool_assertions import Failure, Reaction, Recovery

from .calls import shown, unreadable
from .context import GradingContext
from .conversation import Call, Conversation, Message
from .findings import Finding, failed, not_applicable, passed
from .handover import hands_over, is_handover_tool
from .text import excerpt, nfc, quoted

__all__ = ["check_recovery"]

_CODE = re.compile(r"[a-z0-9_]+(?=:|$)")
_TIMEOUT = re.compile(r"time[ds]?[\s_-]?out|deadline|too long|etimedout", re.IGNORECASE)
_LISTED = 50

_Step = Call | Message


@dataclass(frozen=True, slots=True)
class _Failed:
    """A failed call, and the calls and messages that follow within reach."""

    call: Call
    next: Sequence[_Step]


def check_recovery(check: Recovery, conversation: Conversation, context: GradingContext) -> Finding:
    """After every failed call the agent reacts as it should; without any there is nothing to check.

    Calls asked for together with the failed one do not follow it. A retry that fails in its turn is judged in
    place of the call that it repeats.
    """
    expected = _expectation(check)
    if refused := unreadable(conversation, context, expected):
        return refused
    faults = _faults(check, conversation)
    if not faults:
        what = "no call" if check.tool_name is None else f"no call of {check.tool_name}"
        return not_applicable(
            "no_fault", f"{what} {_FAILED[check.after]}, so there is nothing to recover from"
        )
    match check.expect:
        case Reaction.RETRY:
            return _each(check, faults, expected, "not_retried", _retried)
        case Reaction.ESCALATE:
            return _each(check, faults, expected, "not_escalated", _escalated)
        case Reaction.NO_FABRICATION:
            return _invented_nothing(conversation, faults, expected)
        case _:
            assert_never(check.expect)


_FAILED = {Failure.ERROR: "ended in an error", Failure.TIMEOUT: "timed out", Failure.ANY: "failed"}


def _timed_out(error: str) -> bool:
    """Whether an error is a timeout: by its code where it has one, else by its words."""
    code = _CODE.match(error)
    return _TIMEOUT.search(code[0] if code else error) is not None


def _is_fault(check: Recovery, call: Call) -> bool:
    error = call.record.error
    if not error or (check.tool_name is not None and nfc(call.record.name) != nfc(check.tool_name)):
        return False
    match check.after:
        case Failure.ANY:
            return True
        case Failure.TIMEOUT:
            return _timed_out(error)
        case Failure.ERROR:
            return not _timed_out(error)
        case _:
            assert_never(check.after)


def _faults(check: Recovery, conversation: Conversation) -> list[_Failed]:
    """Find the failed calls, each with the agent's next steps."""
    steps = [one for one in conversation.happened if isinstance(one, Call | Message)]
    found: list[_Failed] = []
    for index, step in enumerate(steps):
        if not isinstance(step, Call) or not _is_fault(check, step):
            continue
        follows = [
            one
            for one in steps[index + 1 :]
            if isinstance(one, Message) or not conversation.side_by_side(step, one)
        ]
        found.append(_Failed(step, follows[: check.within]))
    return found


def _same_tool(one: Call, other: Call) -> bool:
    return nfc(one.record.name) == nfc(other.record.name)


def _after(fault: _Failed, earlier: Sequence[_Failed]) -> bool:
    """Whether the failed call repeats an earlier one that failed."""
    return any(
        _same_tool(one.call, fault.call) and any(step is fault.call for step in one.next) for one in earlier
    )


def _retried(fault: _Failed, faults: Sequence[_Failed]) -> bool:
    """Whether the call was made again, or is itself such a repetition: nobody has to go on for ever."""
    again = any(isinstance(step, Call) and _same_tool(step, fault.call) for step in fault.next)
    return again or _after(fault, faults)


def _escalated(fault: _Failed, faults: Sequence[_Failed]) -> bool:
    """Whether people were brought in, or the call was repeated and failed, when that failure is judged."""
    brought_in = any(
        hands_over(step.text) if isinstance(step, Message) else is_handover_tool(step.record.name)
        for step in fault.next
    )
    return brought_in or any(_after(other, [fault]) for other in faults)


def _each(
    check: Recovery,
    faults: Sequence[_Failed],
    expected: str,
    code: str,
    good: Callable[[_Failed, Sequence[_Failed]], bool],
) -> Finding:
    """Every failed call was followed by the right thing."""
    for fault in faults:
        if not good(fault, faults):
            record = fault.call.record
            return failed(
                code,
                f"{record.name} failed ({excerpt(record.error or '', limit=120)}), and in the next "
                f"{check.within} steps the agent did not {_WANTED[check.expect]}",
                expected=expected,
                seen="; ".join(map(_told, fault.next)) or "nothing more",
                at=fault.call.entry,
                details={"faults": len(faults)},
            )
    return passed(at=faults[-1].call.entry, details={"faults": len(faults)})


def _invented_nothing(conversation: Conversation, faults: Sequence[_Failed], expected: str) -> Finding:
    """What is said after the first failure stands in user messages, tool results or scripted history."""
    from .facts import ungrounded  # noqa: PLC0415 - its patterns take time to build

    first = faults[0].call
    happened = conversation.happened
    start = next(index for index, one in enumerate(happened) if one is first)
    said = [one for one in happened[start + 1 :] if isinstance(one, Message)]
    if not said:
        return failed(
            "no_agent_message",
            f"the agent said nothing after {first.record.name} had failed",
            expected=expected,
            seen="no message",
            at=first.entry,
        )
    stated, loose = ungrounded(said, conversation)
    details: dict[str, Json] = {
        "faults": len(faults),
        "facts": len(stated),
        "ungrounded": [excerpt(fact.text, limit=80) for _, fact in loose[:_LISTED]],
    }
    if not loose:
        return passed(details=details)
    message, fact = loose[0]
    named = ", ".join(dict.fromkeys(quoted(fact.text, 40) for _, fact in loose[:8]))
    return failed(
        "fabricated",
        f"after {first.record.name} had failed the agent stated what it had not been told: {named}",
        expected=expected,
        seen=excerpt(message.text, fact.start),
        at=message.entry,
        details=details,
    )


_WANTED = {
    Reaction.RETRY: "try it again",
    Reaction.ESCALATE: "hand over to people",
    Reaction.NO_FABRICATION: "state only what it was told",
}


def _told(step: _Step) -> str:
    if isinstance(step, Message):
        return f"said {quoted(step.text)}"
    return f"called {shown((step,))}"


def _expectation(check: Recovery) -> str:
    tool = "a call" if check.tool_name is None else f"a call of {check.tool_name}"
    wanted = f"{_WANTED[check.expect]} after {tool} {_FAILED[check.after]}"
    if check.expect is Reaction.NO_FABRICATION:
        return wanted
    return f"{wanted}, within {'the next step' if check.within == 1 else f'{check.within} steps'}"
