"""The model that drafts cases and prompts: what the use cases ask of it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["MetaFailed", "MetaModel", "NoMeta"]


class MetaFailed(Exception):
    """The meta model gave nothing that can be used; the message says why, for the answer's warning."""


class MetaModel(Protocol):
    """A model that reads delimited data and answers with JSON text."""

    async def ask(self, *, instructions: str, data: str, max_tokens: int = 4_000) -> str:
        """Return the model's text; `data` is hostile and reaches the model only inside its own fence.

        Raises:
            MetaFailed: not configured, no answer in time, refused or over its limits.
        """
        ...


class NoMeta:
    """Where there is no meta model: every question fails, and what asked falls back."""

    async def ask(self, *, instructions: str, data: str, max_tokens: int = 4_000) -> str:  # noqa: ARG002 - the protocol's names
        """Say that there is none.

        Raises:
            MetaFailed: always.
        """
        raise MetaFailed("no meta model is set: give PROCTOR_META_PROVIDER and PROCTOR_META_MODEL")
