"""The `tool_policy` check: what the agent may call at all, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from proctor_contracts.tool_assertions import ToolPolicy

from .calls import arguments, shown, times, unreadable
from .canonical import canonical_json
from .context import GradingContext
from .conversation import Call, Conversation
from .findings import Finding, failed, passed
from .text import excerpt, nfc

__all__ = ["check_tool_policy"]

_SHOWN = 5
_LISTED = 20


@dataclass(frozen=True, slots=True)
class _Breach:
    code: str
    message: str
    entry: int


def check_tool_policy(check: ToolPolicy, conversation: Conversation, context: GradingContext) -> Finding:
    """No call breaks a rule; failed calls count."""
    expected = _expectation(check)
    if refused := unreadable(conversation, context, expected):
        return refused
    calls = conversation.calls
    breaches = [*_names(check, calls), *_counts(check, calls), *_repeats(check, calls)]
    if not breaches:
        return passed(details={"calls": len(calls)})
    told = "; ".join(breach.message for breach in breaches[:_SHOWN])
    more = f"; and {len(breaches) - _SHOWN} more" if len(breaches) > _SHOWN else ""
    return failed(
        breaches[0].code,
        told + more,
        expected=expected,
        seen=shown(calls),
        at=breaches[0].entry,
        details={
            "calls": len(calls),
            "breaches": [{"code": one.code, "message": one.message} for one in breaches[:_LISTED]],
        },
    )


def _fits(name: str, globs: Sequence[str]) -> str | None:
    return next((glob for glob in globs if fnmatchcase(name, nfc(glob))), None)


def _names(check: ToolPolicy, calls: Sequence[Call]) -> Iterator[_Breach]:
    seen: set[str] = set()
    for call in calls:
        name = nfc(call.record.name)
        if name in seen:
            continue
        seen.add(name)
        if check.deny is not None and (glob := _fits(name, check.deny)) is not None:
            yield _Breach("tool_denied", f"{name} is denied by {glob}", call.entry)
        elif check.allow is not None and _fits(name, check.allow) is None:
            yield _Breach("tool_not_allowed", f"{name} is not allowed", call.entry)


def _counts(check: ToolPolicy, calls: Sequence[Call]) -> Iterator[_Breach]:
    limit = check.max_calls
    if limit is not None and len(calls) > limit:
        yield _Breach("too_many_calls", f"{len(calls)} calls, allowed are {limit}", calls[limit].entry)
    made: dict[str, list[Call]] = {}
    for call in calls:
        made.setdefault(nfc(call.record.name), []).append(call)
    for glob, most in (check.max_per_tool or {}).items():
        for name, of_tool in made.items():
            if len(of_tool) > most and fnmatchcase(name, nfc(glob)):
                text = f"{name} was called {times(len(of_tool))}, allowed by {glob} are {most}"
                yield _Breach("too_many_calls", text, of_tool[most].entry)


def _repeats(check: ToolPolicy, calls: Sequence[Call]) -> Iterator[_Breach]:
    """Find equal calls: the same tool with the same arguments, whatever their order of keys."""
    most = check.max_repeat_same_args
    if most is None:
        return
    counts: Counter[tuple[str, str]] = Counter()
    told: set[tuple[str, str]] = set()
    keys = [
        (nfc(call.record.name), nfc(canonical_json(arguments(call.record), sort_keys=True))) for call in calls
    ]
    total = Counter(keys)
    for call, key in zip(calls, keys, strict=True):
        counts[key] += 1
        if counts[key] > most and key not in told:
            told.add(key)
            shown_call = f"{key[0]}({excerpt(key[1], limit=80)})"
            text = f"{shown_call} was called {times(total[key])}, allowed are {most}"
            yield _Breach("repeated_call", text, call.entry)


def _expectation(check: ToolPolicy) -> str:
    rules = []
    if check.allow is not None:
        rules.append(f"only {', '.join(check.allow)}")
    if check.deny is not None:
        rules.append(f"none of {', '.join(check.deny)}")
    if check.max_calls is not None:
        rules.append(f"at most {check.max_calls} calls")
    rules += [f"at most {most} calls of {glob}" for glob, most in (check.max_per_tool or {}).items()]
    if check.max_repeat_same_args is not None:
        rules.append(f"the same call at most {times(check.max_repeat_same_args)}")
    return "; ".join(rules)
