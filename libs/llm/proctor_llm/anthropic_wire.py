"""Anthropic's Messages format: our request into it, its stream of events into a reply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proctor_contracts.base import Json

from .aliases import Aliases
from .replies import clean_text, count, object_or_none
from .types import ChatMessage, ChatRequest, Finish, ToolUse, Usage

__all__ = ["FINISHES", "StreamedReply", "request_fields"]

FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_USE,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSAL,
}


def request_fields(request: ChatRequest, aliases: Aliases) -> dict[str, Any]:
    """Write a request; tool names become aliases."""
    fields: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [_message(one, aliases) for one in request.messages if not _is_void(one)],
    }
    if request.system:
        fields["system"] = request.system
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.external_user_id is not None:
        fields["metadata"] = {"user_id": request.external_user_id}
    if request.tools:
        fields["tools"] = [
            {"name": aliases.alias(tool.name), "description": tool.description, "input_schema": tool.schema}
            for tool in request.tools
        ]
    if request.force_tool is not None:
        fields["tool_choice"] = {"type": "tool", "name": aliases.alias(request.force_tool)}
    return fields


@dataclass(slots=True)
class _Block:
    """One content block as it grows."""

    kind: str
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class StreamedReply:
    """A reply put together from stream events; `done` once the API said that it is complete."""

    model: str = ""
    stop_reason: str | None = None
    done: bool = False
    usage: Usage | None = None
    blocks: dict[int, _Block] = field(default_factory=dict)

    def take(self, event: Json) -> bool:
        """Add one event; true when it brought content (text, thinking or part of a tool call)."""
        match event:
            case {"type": "message_start", "message": {"model": model, "usage": usage}}:
                self.model, self.usage = str(model), _usage(usage, Usage())
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                self.blocks[index] = _Block(
                    str(block.get("type", "")), str(block.get("id", "")), str(block.get("name", ""))
                )
                if isinstance(block.get("text"), str) and block["text"]:
                    self.blocks[index].parts.append(block["text"])
                    return True
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                part = delta.get("text", delta.get("partial_json"))
                if isinstance(part, str) and index in self.blocks:
                    self.blocks[index].parts.append(part)
                return True
            case {"type": "message_delta", "delta": dict(delta), **rest}:
                self.stop_reason = delta.get("stop_reason") or self.stop_reason
                self.usage = _usage(rest.get("usage"), self.usage or Usage())
            case {"type": "message_stop"}:
                self.done = True
            case _:
                pass
        return False

    @property
    def text(self) -> str:
        """Everything said, text blocks joined."""
        return clean_text("".join("".join(one.parts) for one in self._ordered() if one.kind == "text"))

    @property
    def last_is_use(self) -> bool:
        """Whether the reply ends in a tool call."""
        blocks = self._ordered()
        return bool(blocks) and blocks[-1].kind == "tool_use"

    def tool_uses(self, aliases: Aliases) -> tuple[ToolUse, ...]:
        """The calls asked for, under the tools' own names."""
        return tuple(
            ToolUse(one.id, aliases.name(one.name), object_or_none(raw), clean_text(raw))
            for one in self._ordered()
            if one.kind == "tool_use"
            for raw in ("".join(one.parts),)
        )

    def _ordered(self) -> list[_Block]:
        return [self.blocks[index] for index in sorted(self.blocks)]


def _usage(found: Json, before: Usage) -> Usage:
    """Read counts; the delta's are running totals, and what it does not name stays as it was."""
    if not isinstance(found, dict):
        return before

    def running(name: str, known: int) -> int:
        value = count(found.get(name))
        return known if value is None else value

    return Usage(
        running("input_tokens", before.prompt_tokens),
        running("cache_read_input_tokens", before.cached_prompt_tokens),
        running("cache_creation_input_tokens", before.cache_write_tokens),
        running("output_tokens", before.completion_tokens),
    )


def _is_void(message: ChatMessage) -> bool:
    # The API refuses empty text blocks; a turn in which nothing was said is left out.
    return not (message.content.strip() or message.tool_uses or message.tool_results)


def _message(message: ChatMessage, aliases: Aliases) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": one.tool_use_id,
            "content": one.content or "(empty result)",
            "is_error": one.is_error,
        }
        for one in message.tool_results
    ]
    if message.content.strip():
        blocks.append({"type": "text", "text": message.content})
    blocks += [
        {"type": "tool_use", "id": one.id, "name": aliases.alias(one.name), "input": one.args or {}}
        for one in message.tool_uses
    ]
    role = "assistant" if message.role == "assistant" else "user"
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return {"role": role, "content": message.content}
    return {"role": role, "content": blocks}
