"""The agent's tool calls as the checks of tools read and show them."""

from __future__ import annotations

import json

from proctor_contracts.base import Json
from proctor_contracts.transcript import ToolCallRecord

from .canonical import canonical_json
from .context import GradingContext
from .conversation import Call, Conversation
from .findings import Finding, no_agent_message, unresolved
from .text import excerpt, nfc

__all__ = ["arguments", "canonical_arguments", "named", "shown", "times", "unreadable", "without_capture"]

_NO_CAPTURE = {
    "no_tool_capture": "this runner and provider do not record tool calls, so nothing can be said about them",
    "tools_not_reported": "a reply did not hold the configured toolCallsPath, so its tool calls are unknown",
}
_SHOWN = 6


def unreadable(conversation: Conversation, context: GradingContext, expected: str) -> Finding | None:
    """Say why a check of tools cannot be answered as asked, or None when it can."""
    if not context.tools_captured:
        return without_capture(context, expected)
    return no_agent_message(expected) if conversation.silent else None


def without_capture(context: GradingContext, expected: str) -> Finding:
    """Say why a check of tools cannot be answered."""
    code = context.tools_missing_reason or "no_tool_capture"
    return unresolved(code, _NO_CAPTURE.get(code, _NO_CAPTURE["no_tool_capture"]), expected=expected)


def named(conversation: Conversation, tool: str) -> tuple[Call, ...]:
    """Return the calls of one tool."""
    name = nfc(tool)
    return tuple(call for call in conversation.calls if nfc(call.record.name) == name)


def arguments(record: ToolCallRecord) -> Json:
    """Return the arguments as a value, none as an empty object.

    A bot that reports them only as text has its text read.
    """
    value = record.args_raw if record.args is None else record.args
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return {} if value is None else value


def canonical_arguments(record: ToolCallRecord) -> str:
    """Print the arguments as JavaScript prints JSON."""
    args = arguments(record)
    return args if isinstance(args, str) else canonical_json(args)


def times(count: int) -> str:
    """Say how often."""
    return "once" if count == 1 else f"{count} times"


def shown(calls: tuple[Call, ...]) -> str:
    """Name the calls that were seen, with their arguments."""
    if not calls:
        return "no tool calls"
    told = "; ".join(
        f"{call.record.name}({excerpt(call.record.args_raw or canonical_arguments(call.record), limit=80)})"
        for call in calls[:_SHOWN]
    )
    return f"{told}; and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else told
