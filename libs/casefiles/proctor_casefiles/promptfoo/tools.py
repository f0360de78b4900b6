"""promptfoo's assertions on an agent's trajectory, as checks of tool calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .notes import Unportable

__all__ = ["FORBIDDEN_TOOLS", "TOOL_CHECKS"]

Check = dict[str, Any]
Make = Callable[[Any, Mapping[str, Any]], list[Check]]
_GLOB = set("*?")
_MATCHES = {"partial": "contains", "exact": "exact"}


def _used(value: Any, _: Mapping[str, Any]) -> list[Check]:
    if not isinstance(value, dict):
        return [{"kind": "tool_call", "toolName": name} for name in _names(value)]
    bounds = {"min": "minOccurrence", "max": "maxOccurrence"}
    counts = {name: value[key] for key, name in bounds.items() if value.get(key) is not None}
    return [{"kind": "tool_call", "toolName": _name(value), **counts}]


def _not_used(value: Any, _: Mapping[str, Any]) -> list[Check]:
    if not isinstance(value, dict):
        return [{"kind": "tool_call", "toolName": name, "mustNotMatch": True} for name in _names(value)]
    if value.get("min", 1) != 1 or value.get("max") is not None:
        raise Unportable("forbids a number of calls")
    return [{"kind": "tool_call", "toolName": _name(value), "mustNotMatch": True}]


def _sequence(value: Any, _: Mapping[str, Any]) -> list[Check]:
    steps, mode = (value, "in_order") if isinstance(value, list) else (None, None)
    if isinstance(value, dict):
        steps, mode = value.get("steps"), value.get("mode", "in_order")
    if not isinstance(steps, list) or not steps or mode not in {"in_order", "exact"}:
        raise Unportable("needs steps, in_order or exact")
    named = [{"toolName": _name(step) if isinstance(step, dict) else _checked(step)} for step in steps]
    return [{"kind": "tool_sequence", "mode": mode, "steps": named}]


def _args(value: Any, _: Mapping[str, Any]) -> list[Check]:
    if not isinstance(value, dict):
        raise Unportable("needs {name, args}")
    args = value.get("args", value.get("arguments"))
    mode = value.get("mode", "partial")
    if not isinstance(args, dict) or mode not in _MATCHES:
        raise Unportable("needs args as an object, compared partial or exact")
    for key in ("defaults", "ignore"):
        if value.get(key):
            raise Unportable(f"has {key}; name the arguments that matter instead")
    if not args and mode == "partial":
        return [{"kind": "tool_call", "toolName": _name(value)}]
    paths = dict(_paths(args, "")) if mode == "partial" else {key: {"eq": item} for key, item in args.items()}
    if any("." in key for key in args):
        raise Unportable("names an argument with a dot in it")
    return [{"kind": "tool_args", "toolName": _name(value), "args": paths, "match": _MATCHES[mode]}]


def _paths(args: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    """Yield every leaf by its dot path; of an object only what is named must be there."""
    for key, item in args.items():
        if not key or "." in key:
            raise Unportable("names an argument with a dot in it")
        if isinstance(item, dict) and item:
            yield from _paths(item, f"{before}{key}.")
        else:
            yield f"{before}{key}", {"type": "object"} if item == {} else {"eq": item}


def _names(value: Any) -> list[str]:
    names = value if isinstance(value, list) else [value]
    if not names:
        raise Unportable("names no tool")
    return [_checked(name) for name in names]


def _name(value: Mapping[str, Any]) -> str:
    """Read `{name}` or `{pattern}` of a tool; a step of another type is no tool call."""
    if value.get("type", "tool") != "tool":
        raise Unportable("looks at other steps than tool calls")
    return _checked(value.get("name") or value.get("pattern"))


def _checked(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise Unportable("names no tool")
    if _GLOB & set(name):
        raise Unportable(f"has the pattern {name}; name the tools, or use tool_policy")
    return name


TOOL_CHECKS: Mapping[str, Make] = {
    "trajectory:tool-used": _used,
    "trajectory:tool-sequence": _sequence,
    "trajectory:tool-args-match": _args,
}
FORBIDDEN_TOOLS: Make = _not_used
