"""The agent under test and the judge, as a run snapshots them."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from .base import TYPED, Strict, Wire
from .effects import HandlerEffect
from .endpoint import HttpEndpoint
from .enums import Provider

__all__ = ["AgentSnapshot", "HandlerSnapshot", "JudgePolicy", "JudgeSettings"]

JudgePolicy = Literal["always", "undecided"]


class HandlerSnapshot(Wire):
    """A tool of the integration as a run took it."""

    id: UUID
    name: str
    description: str | None = None
    url: str = ""
    method: str = "POST"
    headers: dict[str, Any] = Field(default_factory=dict)
    body: Any = None
    parameters_schema: dict[str, Any] | None = None
    is_side_effect: bool | None = None
    effect: HandlerEffect | None = None


class AgentSnapshot(Wire):
    """The bot under test: how to reach it and what it was told."""

    integration_id: UUID
    integration_name: str
    provider: Provider
    model: str | None = None
    prompt: str = ""
    endpoint: HttpEndpoint | None = None
    handlers: tuple[HandlerSnapshot, ...] = ()
    max_tokens: int = 1024
    temperature: float | None = None


class JudgeSettings(Strict):
    """Which model judges, and how many votes a criterion takes."""

    provider: Provider
    model: Annotated[str, Field(min_length=1, max_length=256)]
    votes: Annotated[Literal[1, 3, 5], TYPED] = 1
