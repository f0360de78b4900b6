"""What one check found, before it is tied to its assertion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor_contracts.base import Json
from proctor_contracts.results import Verdict, Where

from .text import EXCERPT_LIMIT, excerpt

__all__ = ["Finding", "failed", "no_agent_message", "not_applicable", "passed", "unresolved"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its explanation; `at` is a transcript entry's index."""

    verdict: Verdict
    code: str | None = None
    message: str = "ok"
    expected: str | None = None
    seen: str | None = None
    where: Where | None = None
    score: float | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Json] | None = None


_OK = Finding(Verdict.PASSED)


_MESSAGE_LIMIT = 600


def _cut(text: str | None) -> str | None:
    return None if text is None else excerpt(text, limit=EXCERPT_LIMIT)


def passed(
    *,
    at: int | None = None,
    notes: tuple[str, ...] = (),
    score: float | None = None,
    details: Mapping[str, Json] | None = None,
) -> Finding:
    """Say that the check holds."""
    if at is None and not notes and score is None and details is None:
        return _OK
    where = None if at is None else Where(entry=at)
    return Finding(Verdict.PASSED, where=where, notes=notes, score=score, details=details)


def failed(
    code: str,
    message: str,
    *,
    expected: str | None = None,
    seen: str | None = None,
    at: int | None = None,
    notes: tuple[str, ...] = (),
    score: float | None = None,
    details: Mapping[str, Json] | None = None,
) -> Finding:
    """Say that the agent misbehaved: what was expected, what was seen, where."""
    where = None if at is None else Where(entry=at)
    message = excerpt(message, limit=_MESSAGE_LIMIT)
    return Finding(Verdict.FAILED, code, message, _cut(expected), _cut(seen), where, score, notes, details)


def unresolved(
    code: str,
    message: str,
    *,
    expected: str | None = None,
    seen: str | None = None,
    at: int | None = None,
    notes: tuple[str, ...] = (),
) -> Finding:
    """Say that we could not find out; the score becomes an interval."""
    where = None if at is None else Where(entry=at)
    message = excerpt(message, limit=_MESSAGE_LIMIT)
    return Finding(Verdict.UNRESOLVED, code, message, _cut(expected), _cut(seen), where, None, notes)


def not_applicable(code: str, message: str) -> Finding:
    """Say that there was nothing to check; the assertion leaves the score."""
    return Finding(Verdict.NOT_APPLICABLE, code, message)


def no_agent_message(expected: str) -> Finding:
    """Say that the agent said nothing in the scope: never a pass, not even of a check for absence."""
    return failed("no_agent_message", "the agent sent no message here", expected=expected, seen="no message")
