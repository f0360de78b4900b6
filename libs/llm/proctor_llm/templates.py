"""The body and headers sent to an http bot: templates compiled once, filled per request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson

from proctor_contracts.base import Json

from .types import ChatMessage, ChatRequest

__all__ = ["Values", "compile_template", "openai_messages", "template_values"]

Values = Mapping[str, Callable[[], Json]]
"""Placeholder → its value, made only when a template asks for it."""

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def compile_template(template: Json) -> Callable[[Values], Json]:
    """Turn a template into a function of the values; a string that is only a placeholder keeps its type."""
    match template:
        case str():
            return _compile_text(template)
        case dict():
            fields = [(key, compile_template(item)) for key, item in template.items()]
            return lambda values: {key: fill(values) for key, fill in fields}
        case list():
            items = [compile_template(item) for item in template]
            return lambda values: [fill(values) for fill in items]
        case _:
            return lambda _values: template


def template_values(request: ChatRequest) -> Values:
    """Give the values of one request: what the user said last, the history, the prompt and the ids."""
    conversation = request.conversation_id if request.session_id is None else request.session_id
    return {
        "message": lambda: _last_user_text(request.messages),
        "messages": lambda: openai_messages(request),
        "prompt": lambda: request.system,
        "conversationId": lambda: conversation,
        "externalUserId": lambda: request.external_user_id,
    }


def openai_messages(request: ChatRequest) -> list[Json]:
    """Write the history in OpenAI's form, the prompt first, texts only."""
    messages: list[Json] = [{"role": "system", "content": request.system}] if request.system else []
    messages += [{"role": one.role, "content": one.content} for one in request.messages if one.role != "tool"]
    return messages


def _last_user_text(messages: tuple[ChatMessage, ...]) -> str:
    return next((one.content for one in reversed(messages) if one.role == "user"), "")


def _compile_text(template: str) -> Callable[[Values], Json]:
    if whole := _PLACEHOLDER.fullmatch(template):
        name = whole.group(1)
        return lambda values: values[name]()
    if not _PLACEHOLDER.search(template):
        return lambda _values: template
    # One pass over the template: what a value brings in is never read as a placeholder again.
    return lambda values: _PLACEHOLDER.sub(lambda found: _as_text(values[found.group(1)]()), template)


def _as_text(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode()
