"""The chat-completions format of OpenAI, Groq and every compatible gateway: request and reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from proctor_contracts.base import Json

from .aliases import Aliases
from .replies import clean_text, count, object_or_none
from .types import ChatMessage, ChatRequest, Finish, ToolUse, Usage

__all__ = ["ChatReply", "read_reply", "request_fields"]

_FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "tool_calls": Finish.TOOL_USE,
    "function_call": Finish.TOOL_USE,
    "content_filter": Finish.CONTENT_FILTER,
    "refusal": Finish.REFUSAL,
}


def request_fields(request: ChatRequest, aliases: Aliases, *, limit_field: str) -> dict[str, Any]:
    """Write a request; `limit_field` is what this API calls the output limit."""
    fields: dict[str, Any] = {
        "model": request.model,
        "messages": _messages(request, aliases),
        limit_field: request.max_tokens,
    }
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.external_user_id is not None:
        fields["user"] = request.external_user_id
    if request.tools:
        fields["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": aliases.alias(tool.name),
                    "description": tool.description,
                    "parameters": tool.schema,
                },
            }
            for tool in request.tools
        ]
    if request.force_tool is not None:
        fields["tool_choice"] = {"type": "function", "function": {"name": aliases.alias(request.force_tool)}}
    return fields


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a chat completion says."""

    text: str
    uses: tuple[ToolUse, ...]
    finish: Finish
    finish_raw: str | None
    usage: Usage | None
    model: str | None
    fingerprint: str | None


def read_usage(reply: Json) -> Usage | None:
    """Read the token counts, None unless both can be; the prompt's include the cached ones, ours do not."""
    found = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(found, dict):
        return None
    prompt, completion = count(found.get("prompt_tokens")), count(found.get("completion_tokens", 0))
    if prompt is None or completion is None:
        return None
    details = found.get("prompt_tokens_details")
    cached = min(prompt, _count(details, "cached_tokens"))
    return Usage(prompt - cached, cached, 0, completion)


def read_reply(reply: Json, aliases: Aliases) -> ChatReply:
    """Read a reply's first choice.

    Raises:
        ValueError: when it has none.
    """
    match reply:
        case {"choices": [{"message": dict(message), **choice}, *_]}:
            pass
        case _:
            raise ValueError("there is no choices[0].message")
    calls = message.get("tool_calls")
    uses = (
        tuple(_use(one, aliases) for one in calls or () if isinstance(one, dict))
        if isinstance(calls, list)
        else ()
    )
    raw = choice.get("finish_reason")
    finish = _FINISHES.get(raw, Finish.INCOMPLETE) if isinstance(raw, str) else Finish.INCOMPLETE
    text, refusal = _text(message.get("content")), message.get("refusal")
    if isinstance(refusal, str) and refusal and finish is Finish.STOP:
        text, finish = text or clean_text(refusal), Finish.REFUSAL
    if finish is Finish.STOP and uses:
        # Several gateways say "stop" although they call tools, above all when a tool was forced.
        finish = Finish.TOOL_USE
    model, fingerprint = reply.get("model"), reply.get("system_fingerprint")
    return ChatReply(
        text=text,
        uses=uses,
        finish=finish,
        finish_raw=raw if isinstance(raw, str) else None,
        usage=read_usage(reply),
        model=model if isinstance(model, str) else None,
        fingerprint=fingerprint if isinstance(fingerprint, str) else None,
    )


def _use(call: dict[str, Json], aliases: Aliases) -> ToolUse:
    function = call.get("function")
    inner = function if isinstance(function, dict) else {}
    arguments = inner.get("arguments")
    raw = (
        arguments
        if isinstance(arguments, str)
        else ""
        if arguments is None
        else orjson.dumps(arguments).decode()
    )
    return ToolUse(
        str(call.get("id", "")),
        aliases.name(str(inner.get("name", ""))),
        object_or_none(raw),
        clean_text(raw),
    )


def _text(content: Json) -> str:
    """Take the text out of a content that is a text or a list of parts."""
    if isinstance(content, str):
        return clean_text(content)
    parts = content if isinstance(content, list) else []
    return clean_text(
        "".join(one["text"] for one in parts if isinstance(one, dict) and isinstance(one.get("text"), str))
    )


def _count(found: Json, name: str) -> int:
    return (count(found.get(name)) if isinstance(found, dict) else None) or 0


def _messages(request: ChatRequest, aliases: Aliases) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for one in request.messages:
        messages.extend(_message(one, aliases))
    return messages


def _message(message: ChatMessage, aliases: Aliases) -> list[dict[str, Any]]:
    match message.role:
        case "tool":
            return [
                {"role": "tool", "tool_call_id": one.tool_use_id, "content": one.content or "(empty result)"}
                for one in message.tool_results
            ]
        case "assistant" if message.tool_uses:
            calls = [
                {
                    "id": one.id,
                    "type": "function",
                    "function": {
                        "name": aliases.alias(one.name),
                        "arguments": orjson.dumps(one.args or {}).decode(),
                    },
                }
                for one in message.tool_uses
            ]
            return [{"role": "assistant", "content": message.content or None, "tool_calls": calls}]
        case role:
            return [{"role": role, "content": message.content}]
