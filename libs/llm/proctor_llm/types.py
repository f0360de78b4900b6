"""What goes to a model and what comes back: frozen values, the same for every provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from proctor_contracts.base import Json

__all__ = [
    "ChatMessage",
    "ChatRequest",
    "Completion",
    "Finish",
    "ReportedCall",
    "ToolResult",
    "ToolSpec",
    "ToolUse",
    "Usage",
]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, each counted once: `prompt_tokens` holds neither the cached nor the cache-write ones."""

    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_prompt_tokens + other.cached_prompt_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    @property
    def total(self) -> int:
        """Every token, cached ones included."""
        return (
            self.prompt_tokens + self.cached_prompt_tokens + self.cache_write_tokens + self.completion_tokens
        )


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call; `name` is the handler's own, any Unicode; `schema` is a JSON Schema."""

    name: str
    description: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call the model asks for; `args` is None when `args_raw` is no JSON object: never execute it then."""

    id: str
    name: str
    args: dict[str, Json] | None
    args_raw: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered, as text for the model."""

    tool_use_id: str
    name: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn; `tool_uses` belong to an assistant, `tool_results` (all of a turn) to a tool message."""

    role: Literal["user", "assistant", "tool"]
    content: str
    tool_uses: tuple[ToolUse, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call; the conversation's state is the caller's, so clients hold none.

    `session_id` is what `Completion.session_id` of the first reply said; with it an http bot sees its own
    id where `{{conversationId}}` stands. `force_tool` names the tool the model has to call.
    """

    model: str
    system: str
    messages: tuple[ChatMessage, ...]
    conversation_id: str
    tools: tuple[ToolSpec, ...] = ()
    force_tool: str | None = None
    max_tokens: int = 1024
    temperature: float | None = None
    external_user_id: str | None = None
    session_id: Json = None


class Finish(StrEnum):
    """Why a reply ended; an unknown reason is `incomplete`, never a normal stop."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_USE = "tool_use"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class ReportedCall:
    """A tool call that an http bot says it made; `duration_ms` and `error` only if it said so."""

    name: str
    args: dict[str, Json] | None
    args_raw: str
    result: Json = None
    duration_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply. `usage` and `cost_micro_usd` cover every try; None means unknown, which is not zero.

    `latency_ms` is the answering try alone, without waiting and backoff; `ttft_ms` only where the reply was
    streamed. `tools_reported` says whether `reported_calls` is the whole truth about the bot's tools, and
    `tools_gap` what was found instead where a list of calls was expected.
    """

    text: str
    bubbles: tuple[str, ...]
    finish: Finish
    model: str
    latency_ms: int
    tool_uses: tuple[ToolUse, ...] = ()
    usage: Usage | None = None
    cost_micro_usd: int | None = None
    fingerprint: str | None = None
    ttft_ms: int | None = None
    tries: int = 1
    reported_calls: tuple[ReportedCall, ...] = ()
    tools_reported: bool = False
    tools_gap: str | None = None
    outcomes: dict[str, Json] = field(default_factory=dict)
    session_id: Json = None
    finish_raw: str | None = None
