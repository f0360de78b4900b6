"""What tools do to the world: the effect a handler has, and the ledger of writes that a conversation made."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from .base import Json, SafeText, Strict, Wire

__all__ = ["Action", "Effect", "HandlerEffect"]


class Action(StrEnum):
    """What a handler does to an entity."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    READ = "read"


class HandlerEffect(Strict):
    """What a handler does, where its name does not say it (`create_refund` creates a refund).

    `key` is the argument that names the record, such as `orderId`; without it an argument called `id` or
    `<entity>Id` is taken.
    """

    entity: Annotated[SafeText, Field(min_length=1, max_length=128)]
    action: Action
    key: Annotated[SafeText, Field(min_length=1, max_length=128)] | None = None


class Effect(Wire):
    """One write in the ledger: made for real, or in a dry run the one that would have been.

    `record` is the entity's state after the write as far as it is known (null after a delete); `call` counts
    the conversation's tool calls from 1.
    """

    entity: str
    action: Action
    key: str | None = None
    data: dict[str, Any] = Field(default_factory=dict)
    record: Json = None
    tool: str
    turn: int
    call: int
    dry_run: bool = True
    failed: bool = False
