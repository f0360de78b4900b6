"""The `tool_call` check: how often the agent called a tool with matching arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.assertions import ToolCall
from proctor_contracts.base import Json
from proctor_contracts.transcript import ToolCallRecord

from .canonical import ABSENT, canonical_json, value_at
from .context import GradingContext, RegexAnswer, RegexFound, RegexInvalid, RegexLimit, RegexMissing
from .conversation import Call, Conversation
from .findings import Finding, failed, no_agent_message, passed, unresolved
from .text import excerpt, nfc

__all__ = ["check_tool_call", "without_capture"]

_NO_CAPTURE = {
    "no_tool_capture": "this runner and provider do not record tool calls, so nothing can be said about them",
    "tools_not_reported": "a reply did not hold the configured toolCallsPath, so its tool calls are unknown",
}
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class _Undecided:
    """An argument pattern that gave no answer."""

    code: str
    reason: str


def without_capture(context: GradingContext, expected: str) -> Finding:
    """Say why a check of tools cannot be answered."""
    code = context.tools_missing_reason or "no_tool_capture"
    return unresolved(code, _NO_CAPTURE.get(code, _NO_CAPTURE["no_tool_capture"]), expected=expected)


def check_tool_call(check: ToolCall, conversation: Conversation, context: GradingContext) -> Finding:
    """Count the agent's calls of one tool; failed calls count, calls by others and cut-off calls do not.

    A string pattern is tried on the arguments as the model wrote them and on their canonical JSON; a dict of
    patterns needs each path to be there, not null, and to match.
    """
    low = 1 if check.min_occurrence is None else check.min_occurrence
    high = check.max_occurrence
    expected = _expectation(check, low, high)
    if not context.tools_captured:
        return without_capture(context, expected)
    if conversation.silent:
        return no_agent_message(expected)
    name = nfc(check.tool_name)
    hits: list[Call] = []
    for call in conversation.calls:
        if nfc(call.record.name) != name:
            continue
        match _args_match(check, call.record, context):
            case True:
                hits.append(call)
            case False:
                pass
            case _Undecided(code=code, reason=reason):
                return unresolved(code, f"argsRegex: {reason}", expected=expected, at=call.entry)
            case never:
                assert_never(never)
    if check.must_not_match:
        low, high = 0, 0
    count = len(hits)
    at = hits[-1].entry if hits else None
    if low <= count and (high is None or count <= high):
        return passed(at=at)
    code = "too_few_calls" if count < low else "forbidden_call" if check.must_not_match else "too_many_calls"
    return failed(
        code,
        f"{check.tool_name} was called {_times(count)}{' with such arguments' if check.args_regex else ''}",
        expected=expected,
        seen=_seen(conversation),
        at=at,
        details={"count": count},
    )


def _args_match(check: ToolCall, record: ToolCallRecord, context: GradingContext) -> bool | _Undecided:
    match check.args_regex:
        case None:
            return True
        case str() as pattern:
            answer = context.regex.search(pattern, check.args_flags, _canonical_args(record))
            if isinstance(answer, RegexMissing) and record.args_raw is not None:
                answer = context.regex.search(pattern, check.args_flags, record.args_raw)
            return _decided(answer)
        case dict() as patterns:
            args = _args(record)
            for path, pattern in patterns.items():
                value = value_at(args, path)
                if value is ABSENT or value is None:
                    return False
                text = value if isinstance(value, str) else canonical_json(value)
                decided = _decided(context.regex.search(pattern, check.args_flags, text))
                if decided is not True:
                    return decided
            return True
        case never:
            assert_never(never)


def _decided(answer: RegexAnswer) -> bool | _Undecided:
    match answer:
        case RegexFound():
            return True
        case RegexMissing():
            return False
        case RegexInvalid(reason=reason):
            return _Undecided("invalid_pattern", reason)
        case RegexLimit(code=code, reason=reason):
            return _Undecided(code, reason)
        case _:
            assert_never(answer)


def _args(record: ToolCallRecord) -> Json:
    """The arguments as a value; a bot that reports them only as text has its text read."""
    value = record.args_raw if record.args is None else record.args
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _canonical_args(record: ToolCallRecord) -> str:
    args = _args(record)
    return "{}" if args is None else args if isinstance(args, str) else canonical_json(args)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _expectation(check: ToolCall, low: int, high: int | None) -> str:
    args = "" if check.args_regex is None else f" with arguments matching {_pattern_text(check)}"
    if check.must_not_match:
        return f"no call of {check.tool_name}{args}"
    bound = f"at least {_times(low)}" if high is None else f"{low} to {high} times"
    return f"{check.tool_name} called {_times(low) if low == high else bound}{args}"


def _pattern_text(check: ToolCall) -> str:
    args = check.args_regex
    return excerpt(args if isinstance(args, str) else canonical_json(args), limit=160)


def _seen(conversation: Conversation) -> str:
    calls = conversation.calls
    if not calls:
        return "no tool calls"
    shown = "; ".join(
        f"{call.record.name}({excerpt(call.record.args_raw or _canonical_args(call.record), limit=80)})"
        for call in calls[:_SHOWN]
    )
    return f"{shown}; and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else shown
