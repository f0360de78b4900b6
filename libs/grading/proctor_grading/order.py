"""The `precedes` check: something must have happened before something else."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from proctor_contracts.tool_assertions import Event, Precedes

from .calls import shown, unreadable
from .context import GradingContext, RegexEngine
from .conversation import Asked, Call, Conversation, Happened, Message
from .findings import Finding, failed, no_agent_message, not_applicable, passed, unresolved
from .matching import Answer, Undecided, decided, pattern_text
from .text import excerpt, nfc

__all__ = ["check_precedes"]


class _Order(Enum):
    KEPT = 1
    BROKEN = 2
    NOTHING = 3


def check_precedes(check: Precedes, conversation: Conversation, context: GradingContext) -> Finding:
    """Before the first `after` there is a `before`; without any `after` there is nothing to check.

    Words that a script puts into the agent's mouth are no event.
    """
    expected = f"{_told(check.before)} before {_told(check.after)}"
    if check.reads_tools and (refused := unreadable(conversation, context, expected)):
        return refused
    if conversation.silent:
        return no_agent_message(expected)
    happened = conversation.happened
    before = [_is(check.before, one, context.regex) for one in happened]
    after = [_is(check.after, one, context.regex) for one in happened]
    orders = {
        _order(
            [answer is True or (hope_before and answer is not False) for answer in before],
            [answer is True or (hope_after and answer is not False) for answer in after],
        )
        for hope_before in (False, True)
        for hope_after in (False, True)
    }
    if len(orders) > 1:
        why = next(answer for answer in (*before, *after) if isinstance(answer, Undecided))
        return unresolved(why.code, why.reason, expected=expected)
    match orders.pop():
        case _Order.NOTHING:
            return not_applicable("event_missing", f"there was no {_told(check.after)}, so no order to check")
        case _Order.KEPT:
            return passed(at=happened[after.index(True)].entry)
        case _Order.BROKEN:
            return _too_early(
                check, expected, conversation, happened[after.index(True)], seen_later=True in before
            )
        case never:
            assert_never(never)


def _order(before: list[bool], after: list[bool]) -> _Order:
    if True not in after:
        return _Order.NOTHING
    return _Order.KEPT if True in before[: after.index(True)] else _Order.BROKEN


def _is(event: Event, one: Happened, regex: RegexEngine) -> Answer:
    match one:
        case Call(record=record):
            return event.tool_name is not None and nfc(record.name) == nfc(event.tool_name)
        case Message(text=text):
            pattern = event.agent_text
        case Asked(text=text):
            pattern = event.user_text
        case _:
            assert_never(one)
    return pattern is not None and decided(regex.search(pattern, event.flags, text))


def _too_early(
    check: Precedes, expected: str, conversation: Conversation, first: Happened, *, seen_later: bool
) -> Finding:
    when = "only afterwards" if seen_later else "never"
    seen = shown((first,)) if isinstance(first, Call) else excerpt(first.text)
    calls = shown(conversation.calls) if check.reads_tools else ""
    return failed(
        "not_preceded",
        f"{_told(check.after)} came first, {_told(check.before)} {when}",
        expected=expected,
        seen=f"{seen} (all calls: {calls})" if calls and calls != seen else seen,
        at=first.entry,
    )


def _told(event: Event) -> str:
    if event.tool_name is not None:
        return f"a call of {event.tool_name}"
    if event.agent_text is not None:
        return f"an answer matching {pattern_text(event.agent_text, event.flags)}"
    return f"a user message matching {pattern_text(event.user_text or '', event.flags)}"
