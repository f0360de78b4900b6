"""What was said and called in one conversation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from .base import Json, Wire
from .enums import Role

__all__ = ["SCRIPTED", "ToolCallRecord", "TranscriptEntry", "Usage"]

SCRIPTED = "scripted"
"""The `finish` of an agent entry that the case's script wrote, not the agent."""


class Usage(Wire):
    """Tokens of one or more model calls.

    `prompt_tokens` counts uncached input only; cached reads and cache writes stand apart, as they are priced
    apart.
    """

    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Add token counts."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_prompt_tokens=self.cached_prompt_tokens + other.cached_prompt_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )

    @property
    def total(self) -> int:
        """All tokens, however priced."""
        return (
            self.prompt_tokens + self.cached_prompt_tokens + self.cache_write_tokens + self.completion_tokens
        )


class ToolCallRecord(Wire):
    """One call of a tool by the agent, as reported or as made; `args_raw` is the text the model wrote."""

    id: str | None = None
    name: str
    args: Json = None
    args_raw: str | None = None
    result: Json = None
    duration_ms: int | None = None
    dry_run: bool = False
    error: str | None = None


class TranscriptEntry(Wire):
    """One message; on input the roles `user` and `assistant` are read as `tester` and `agent`.

    `turn` counts user turns from 1. `latency_ms` is the agent's time for the whole turn and stands on the
    turn's first agent entry only, as `usage` does; a reply of several bubbles is several entries. `finish`
    is `scripted` on words that a script put into the agent's mouth, and `tool_use` on a reply of a model that
    asks for the calls it holds: its words, often none, came before them.
    """

    role: Role
    content: str
    timestamp: datetime | None = None
    turn: int | None = None
    latency_ms: int | None = None
    ttft_ms: int | None = None
    usage: Usage | None = None
    finish: str | None = None
    tool_calls: Annotated[tuple[ToolCallRecord, ...], Field(max_length=10_000)] = ()

    @property
    def graded(self) -> bool:
        """Whether the agent itself is responsible for this entry."""
        return self.role is Role.AGENT and self.finish != SCRIPTED
