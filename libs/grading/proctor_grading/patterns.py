"""The patterns and tool names that an assertion holds, wherever in it they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proctor_contracts.assertions import Assertion
from proctor_contracts.base import Json
from proctor_contracts.matchers import Items, MatcherForm, Matches, Shape, read_matcher
from proctor_contracts.tool_assertions import (
    Event,
    Precedes,
    Recovery,
    State,
    ToolArgs,
    ToolCall,
    ToolSequence,
)

__all__ = ["PlacedPattern", "patterns_in", "tools_in"]


@dataclass(frozen=True, slots=True)
class PlacedPattern:
    """A JavaScript pattern with the paths of itself and of its flags inside the assertion."""

    path: str
    pattern: str
    flags: str
    flags_path: str


def patterns_in(assertion: Assertion) -> Iterator[PlacedPattern]:
    """List the patterns that look at calls, writes and events; a `regex` assertion's own is not one."""
    match assertion:
        case ToolCall(args_regex=str() as pattern):
            yield PlacedPattern("argsRegex", pattern, assertion.args_flags, "argsFlags")
        case ToolCall(args_regex=dict() as patterns):
            for key, pattern in patterns.items():
                yield PlacedPattern(f"argsRegex.{key}", pattern, assertion.args_flags, "argsFlags")
        case ToolArgs():
            yield from _in_paths("args", assertion.args)
        case ToolSequence():
            for index, step in enumerate(assertion.steps):
                yield from _in_paths(f"steps.{index}.args", step.args or {})
        case State():
            for index, item in enumerate(assertion.expect):
                yield from _in_paths(f"expect.{index}.where", item.where)
        case Precedes():
            yield from _in_event("before", assertion.before)
            yield from _in_event("after", assertion.after)
        case _:
            return


def tools_in(assertion: Assertion) -> Iterator[tuple[str, str]]:
    """List the exact tool names that an assertion holds, each with its path."""
    match assertion:
        case ToolCall(tool_name=name) | ToolArgs(tool_name=name) | Recovery(tool_name=str() as name):
            yield "toolName", name
        case ToolSequence():
            for index, step in enumerate(assertion.steps):
                yield f"steps.{index}.toolName", step.tool_name
        case Precedes():
            for path, event in (("before", assertion.before), ("after", assertion.after)):
                if event.tool_name is not None:
                    yield f"{path}.toolName", event.tool_name
        case _:
            return


def _in_paths(path: str, matchers: Mapping[str, Json]) -> Iterator[PlacedPattern]:
    for key, matcher in matchers.items():
        yield from _in_matcher(f"{path}.{key}", read_matcher(matcher))


def _in_matcher(path: str, matcher: MatcherForm) -> Iterator[PlacedPattern]:
    match matcher:
        case Matches(pattern=pattern, flags=flags):
            yield PlacedPattern(f"{path}.regex", pattern, flags, f"{path}.flags")
        case Shape(fields=fields):
            for key, inner in fields.items():
                yield from _in_matcher(f"{path}.{key}", inner)
        case Items(items=items):
            for index, inner in enumerate(items):
                yield from _in_matcher(f"{path}.{index}", inner)
        case _:
            return


def _in_event(path: str, event: Event) -> Iterator[PlacedPattern]:
    for field, pattern in (("agentText", event.agent_text), ("userText", event.user_text)):
        if pattern is not None:
            yield PlacedPattern(f"{path}.{field}", pattern, event.flags, f"{path}.flags")
