"""Adapters for the agents and models under test, one protocol and one error taxonomy."""

from __future__ import annotations

from .client import LlmClient
from .door import Door, SecretSource, Surroundings
from .errors import LlmError, LlmErrorCode
from .registry import Models
from .settings import LlmSettings
from .types import (
    ChatMessage,
    ChatRequest,
    Completion,
    Finish,
    ReportedCall,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)

__all__ = [
    "ChatMessage",
    "ChatRequest",
    "Completion",
    "Door",
    "Finish",
    "LlmClient",
    "LlmError",
    "LlmErrorCode",
    "LlmSettings",
    "Models",
    "ReportedCall",
    "SecretSource",
    "Surroundings",
    "ToolResult",
    "ToolSpec",
    "ToolUse",
    "Usage",
]
