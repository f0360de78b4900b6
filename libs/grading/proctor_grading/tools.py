"""The `tool_call` check: how often the agent called a tool with matching arguments."""

from __future__ import annotations

from typing import assert_never

from proctor_contracts.tool_assertions import ToolCall
from proctor_contracts.transcript import ToolCallRecord

from .calls import arguments, canonical_arguments, named, shown, times, unreadable
from .canonical import ABSENT, canonical_json, value_at
from .context import GradingContext, RegexMissing
from .conversation import Call, Conversation
from .findings import Finding, failed, passed, unresolved
from .matching import Answer, Undecided, decided
from .text import excerpt

__all__ = ["check_tool_call"]


def check_tool_call(check: ToolCall, conversation: Conversation, context: GradingContext) -> Finding:
    """Count the agent's calls of one tool; failed calls count, calls by others and cut-off calls do not.

    A string pattern is tried on the arguments as the model wrote them and on their canonical JSON; a dict of
    patterns needs each path to be there, not null, and to match.
    """
    low = 1 if check.min_occurrence is None else check.min_occurrence
    high = check.max_occurrence
    expected = _expectation(check, low, high)
    if refused := unreadable(conversation, context, expected):
        return refused
    hits: list[Call] = []
    for call in named(conversation, check.tool_name):
        match _args_match(check, call.record, context):
            case True:
                hits.append(call)
            case False:
                pass
            case Undecided(code=code, reason=reason):
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
        f"{check.tool_name} was called {times(count)}{' with such arguments' if check.args_regex else ''}",
        expected=expected,
        seen=shown(conversation.calls),
        at=at,
        details={"count": count},
    )


def _args_match(check: ToolCall, record: ToolCallRecord, context: GradingContext) -> Answer:
    match check.args_regex:
        case None:
            return True
        case str() as pattern:
            found = context.regex.search(pattern, check.args_flags, canonical_arguments(record))
            if isinstance(found, RegexMissing) and record.args_raw is not None:
                found = context.regex.search(pattern, check.args_flags, record.args_raw)
            return decided(found)
        case dict() as patterns:
            args = arguments(record)
            for path, pattern in patterns.items():
                value = value_at(args, path)
                if value is ABSENT or value is None:
                    return False
                text = value if isinstance(value, str) else canonical_json(value)
                answer = decided(context.regex.search(pattern, check.args_flags, text))
                if answer is not True:
                    return answer
            return True
        case never:
            assert_never(never)


def _expectation(check: ToolCall, low: int, high: int | None) -> str:
    args = "" if check.args_regex is None else f" with arguments matching {_pattern_text(check)}"
    if check.must_not_match:
        return f"no call of {check.tool_name}{args}"
    bound = f"at least {times(low)}" if high is None else f"{low} to {high} times"
    return f"{check.tool_name} called {times(low) if low == high else bound}{args}"


def _pattern_text(check: ToolCall) -> str:
    args = check.args_regex
    return excerpt(args if isinstance(args, str) else canonical_json(args), limit=160)
