"""The `json_schema` check: JSON in an answer, validated with bounded work and JavaScript patterns."""

from __future__ import annotations

import re
from typing import assert_never

from proctor_contracts.assertions import JsonSchema, JsonWhere
from proctor_contracts.base import Json
from proctor_contracts.enums import Scope

from .context import GradingContext, RegexEngine
from .conversation import SCOPE_NAMES, Conversation
from .findings import Finding, failed, no_agent_message, passed, unresolved
from .jsontext import JsonText, documents, parse
from .schema import Undecidable, invalid

__all__ = ["check_json_schema"]

TEXT_LIMIT = 100_000
# A fence is closed by a line of its own, since texts inside the JSON may hold its marks.
_FENCE = re.compile(
    r"(`{3,}|~{3,})[^\S\n]*([\w+-]*)[^\n]*\n(.*?)(?:^[^\S\n]*\1[^\S\n]*\r?$|\Z)", re.DOTALL | re.MULTILINE
)


def check_json_schema(check: JsonSchema, conversation: Conversation, context: GradingContext) -> Finding:
    """A JSON document stands in the scope and satisfies the schema.

    Of several documents in one message (`embedded`, `fence`) one must satisfy it. Remote references are not
    followed; an answer longer than 100,000 characters is not read.
    """
    expected = f"JSON ({check.where}) that satisfies the schema in {SCOPE_NAMES[check.scope]}"
    messages = conversation.messages(check.scope)
    if not messages:
        return no_agent_message(expected)
    faults: list[tuple[str, str, int, str]] = []
    for message in messages:
        try:
            fault = _fault(check, message.text, context.regex)
        except Undecidable as error:
            return unresolved(error.code, error.reason, expected=expected, at=message.entry)
        if fault is None and check.scope is Scope.ANY:
            return passed(at=message.entry)
        if fault is not None:
            faults.append((*fault, message.entry, message.text))
            if check.scope is not Scope.ANY:
                break
    if not faults:
        return passed(at=messages[-1].entry)
    code, text, entry, seen = faults[-1]
    return failed(code, text, expected=expected, seen=seen, at=entry)


def _fault(check: JsonSchema, text: str, regex: RegexEngine) -> tuple[str, str] | None:
    """Say why a message does not hold the wanted document: (code, reason), or None when it does."""
    if len(text) > TEXT_LIMIT:
        raise Undecidable("text_too_long", f"the answer is longer than {TEXT_LIMIT} characters")
    found = _found(check.where, text)
    if isinstance(found, str):
        return "no_json", found
    errors = [error for document in found if (error := invalid(check.schema_, document, regex)) is not None]
    return ("schema_mismatch", errors[0]) if len(errors) == len(found) else None


def _found(where: JsonWhere, text: str) -> list[Json] | str:
    match where:
        case JsonWhere.WHOLE:
            try:
                return [parse(text.strip().removeprefix("\ufeff"))]
            except JsonText as error:
                return f"the answer is not one JSON document: {error}"
        case JsonWhere.EMBEDDED:
            return documents(text, "{[") or "no JSON object or array in the answer"
        case JsonWhere.FENCE:
            return _fenced(text)
        case _:
            assert_never(where)


def _fenced(text: str) -> list[Json] | str:
    fences = [body for _, label, body in _FENCE.findall(text) if label.lower() in {"", "json"}]
    if not fences:
        return "no code fence with JSON in the answer"
    found, reason = [], ""
    for body in fences:
        # The marks may also stand behind the JSON in its last line.
        for candidate in (body, body.partition("```")[0]):
            try:
                found.append(parse(candidate.strip()))
            except JsonText as error:
                reason = reason or f"the code fence is not JSON: {error}"
            else:
                break
    return found or reason
