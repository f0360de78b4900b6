"""The protocol every adapter serves."""

from __future__ import annotations

from typing import Protocol

from .types import ChatRequest, Completion

__all__ = ["LlmClient"]


class LlmClient(Protocol):
    """Speaks to one agent or model; stateless, so any number of conversations share it."""

    async def complete(self, request: ChatRequest, *, deadline: float) -> Completion:
        """Send one request; `deadline` (the running loop's time) covers every try and every wait.

        Raises:
            LlmError: when no usable reply came. Cancellation passes through unchanged.
        """
        ...

    async def prepare(self) -> None:
        """Load what the first request needs, so that no conversation waits for it.

        Raises:
            LlmError: what the first request would raise.
        """
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...
