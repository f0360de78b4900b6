"""Keeps a result small enough to travel: a transcript over the limit is an error with its beginning kept."""

from __future__ import annotations

import json

from proctor_contracts.enums import Blame
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.results import CaseError
from proctor_contracts.topology import MAX_BODY_BYTES
from proctor_contracts.transcript import TranscriptEntry

__all__ = ["MAX_TRANSCRIPT_BYTES", "fitted"]

MAX_TRANSCRIPT_BYTES = 768 * 1024
_MAX_FACT_BYTES = MAX_BODY_BYTES - 16 * 1024
_WORST_BYTES_PER_CHARACTER = 6  # a control character as \u0000, or four bytes of UTF-8
_ENTRY_BYTES = 512
_SMALL = 256 * 1024
_KEPT_CHARACTERS = 2_000
_KEPT_ENTRIES = 60


def fitted(fact: CaseExecuted) -> CaseExecuted:
    """Return the fact as it is when it fits, else with an error and only the beginning of the transcript."""
    if _surely_small(fact):
        return fact
    size = sum(len(entry.model_dump_json().encode()) + 1 for entry in fact.transcript) + 2
    if size > MAX_TRANSCRIPT_BYTES:
        return _cut(
            fact,
            "transcript_too_large",
            f"the transcript takes {size} bytes, at most {MAX_TRANSCRIPT_BYTES} are kept; "
            "shorten the bot's answers or what it reports of its tools",
        )
    size = len(fact.model_dump_json().encode())
    if size > _MAX_FACT_BYTES:
        return _cut(
            fact,
            "result_too_large",
            f"transcript and check results take {size} bytes together, at most {_MAX_FACT_BYTES} are kept; "
            "shorten the bot's answers, its outcomes or the assertions",
        )
    return fact


def _surely_small(fact: CaseExecuted) -> bool:
    if fact.outcomes or fact.effects or any(entry.tool_calls for entry in fact.transcript):
        # Values of any depth: written out, they say how long they are.
        extra = len(json.dumps(fact.outcomes)) + sum(
            len(json.dumps([call.args, call.result])) + _WORST_BYTES_PER_CHARACTER * len(call.args_raw or "")
            for entry in fact.transcript
            for call in entry.tool_calls
        )
        extra += sum(len(json.dumps([effect.data, effect.record])) for effect in fact.effects)
        calls = len(fact.effects) + sum(len(entry.tool_calls) for entry in fact.transcript)
    else:
        extra = calls = 0
    characters = sum(len(entry.content) for entry in fact.transcript) + sum(
        len(result.message) + len(result.expected or "") + len(result.seen or "")
        for result in fact.assertion_results
    )
    parts = len(fact.transcript) + len(fact.assertion_results) + calls
    return _WORST_BYTES_PER_CHARACTER * characters + _ENTRY_BYTES * parts + extra <= _SMALL


def _cut(fact: CaseExecuted, code: str, message: str) -> CaseExecuted:
    error = fact.error or CaseError(code=code, message=message, blame=Blame.AGENT)
    return fact.model_copy(
        update={
            "transcript": tuple(map(_head, fact.transcript[:_KEPT_ENTRIES])),
            "assertion_results": (),
            "outcomes": {},
            "effects": (),
            "error": error,
            "logs": (*fact.logs[:20], f"cut: {message}"),
        }
    )


def _head(entry: TranscriptEntry) -> TranscriptEntry:
    content = entry.content
    if len(content) > _KEPT_CHARACTERS:
        content = f"{content[:_KEPT_CHARACTERS]}… (cut: {len(content)} characters)"
    return entry.model_copy(update={"content": content, "tool_calls": ()})
