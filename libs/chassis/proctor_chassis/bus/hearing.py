"""Transient messages on their way to one listener: in order, and never in anybody's way."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque

from .port import Listener
from .wire import decode_transient

__all__ = ["Ear"]

_log = logging.getLogger(__name__)
MAX_UNHEARD = 10_000
"""How many messages wait for a slow listener before the oldest are dropped."""


class Ear:
    """Calls one listener, a message at a time; what it cannot read or does not want is skipped."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self._unheard: deque[tuple[str, bytes]] = deque(maxlen=MAX_UNHEARD)
        self._task: asyncio.Task[None] | None = None

    def hear(self, name: str, body: bytes) -> None:
        """Take a message of this type; returns at once."""
        if name not in self.listener.models:
            return
        self._unheard.append((name, body))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._tell())

    def close(self) -> None:
        """Stop listening and forget what was not heard."""
        self._unheard.clear()
        if self._task is not None:
            self._task.cancel()

    async def _tell(self) -> None:
        while self._unheard:
            message = decode_transient(self.listener.models, *self._unheard.popleft())
            if message is None:
                continue
            try:
                answer = self.listener.handler(message)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:  # noqa: BLE001 - one bad message must not deafen the listener
                _log.exception("bus.listener_failed", extra={"exchange": self.listener.exchange.name})
