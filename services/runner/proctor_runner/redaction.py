"""Keeps secret values out of what leaves the runner; checks have already read the true text."""

from __future__ import annotations

from typing import Any, Protocol

from proctor_contracts.effects import Effect
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.results import AssertionResult, CaseError
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry

__all__ = ["Redaction", "redacted"]


class Redaction(Protocol):
    """Replaces known secret values."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to replace."""
        ...

    def text(self, text: str) -> str:
        """Replace them in a text."""
        ...

    def json(self, value: Any) -> Any:
        """Replace them in a JSON value."""
        ...


def redacted(fact: CaseExecuted, redactor: Redaction) -> CaseExecuted:
    """Return the fact without secret values in anything an agent, a tool or an error could have put there.

    Ids, enums and numbers are left alone: a secret as short as `test` must not break them.
    """
    if redactor.empty:
        return fact
    return fact.model_copy(
        update={
            "transcript": tuple(_entry(entry, redactor) for entry in fact.transcript),
            "assertion_results": tuple(_result(result, redactor) for result in fact.assertion_results),
            "outcomes": redactor.json(fact.outcomes),
            "effects": tuple(_effect(effect, redactor) for effect in fact.effects),
            "error": _error(fact.error, redactor),
            "agent_model": _maybe(fact.agent_model, redactor),
            "agent_fingerprint": _maybe(fact.agent_fingerprint, redactor),
            "logs": tuple(map(redactor.text, fact.logs)),
        }
    )


def _entry(entry: TranscriptEntry, redactor: Redaction) -> TranscriptEntry:
    content = redactor.text(entry.content)
    if content == entry.content and not entry.tool_calls:
        return entry
    calls = tuple(_call(call, redactor) for call in entry.tool_calls)
    return entry.model_copy(update={"content": content, "tool_calls": calls})


def _call(call: ToolCallRecord, redactor: Redaction) -> ToolCallRecord:
    return call.model_copy(
        update={
            "id": _maybe(call.id, redactor),
            "name": redactor.text(call.name),
            "args": redactor.json(call.args),
            "args_raw": _maybe(call.args_raw, redactor),
            "result": redactor.json(call.result),
            "error": _maybe(call.error, redactor),
        }
    )


def _effect(effect: Effect, redactor: Redaction) -> Effect:
    return effect.model_copy(
        update={
            "key": _maybe(effect.key, redactor),
            "data": redactor.json(effect.data),
            "record": redactor.json(effect.record),
        }
    )


def _result(result: AssertionResult, redactor: Redaction) -> AssertionResult:
    where = result.where
    if where is not None and where.excerpt:
        where = where.model_copy(update={"excerpt": redactor.text(where.excerpt)})
    update = {
        "message": redactor.text(result.message),
        "expected": _maybe(result.expected, redactor),
        "seen": _maybe(result.seen, redactor),
        "where": where,
        "notes": tuple(map(redactor.text, result.notes)),
        "details": redactor.json(result.details) if result.details else result.details,
    }
    # Most results hold no secret, and a copy costs more than looking for one.
    changed = {name: value for name, value in update.items() if value != getattr(result, name)}
    return result.model_copy(update=changed) if changed else result


def _error(error: CaseError | None, redactor: Redaction) -> CaseError | None:
    return error and error.model_copy(update={"message": redactor.text(error.message)})


def _maybe(text: str | None, redactor: Redaction) -> str | None:
    return text and redactor.text(text)
