"""Whether the API can serve, and the figures that operators scale by."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from proctor_store.repositories import outbox
from proctor_store.session import Database, StoreUnavailable

__all__ = ["OUTBOX_LIMIT", "Probes"]

OUTBOX_LIMIT = 50_000
PATIENCE_SECONDS = 2.0
_log = logging.getLogger(__name__)


class _Watched(Protocol):
    @property
    def connected(self) -> bool: ...


class Probes:
    """Looks at the database, the broker and the outbox.

    A missing broker only delays, so it makes the API unready only once the outbox holds over 50,000 messages.
    `observe` brings gauges up to date before `expose` writes everything that is counted.
    """

    def __init__(
        self,
        *,
        database: Database,
        bus: _Watched,
        observe: Callable[[], Awaitable[None]] | None = None,
        expose: Callable[[], bytes] | None = None,
    ) -> None:
        self._database = database
        self._bus = bus
        self._observe = observe
        self._expose = expose

    async def readiness(self) -> tuple[bool, dict[str, Any]]:
        """Whether to send requests here, and how each part is."""
        waiting = await self._outbox()
        ready = waiting is not None and waiting <= OUTBOX_LIMIT
        facts: dict[str, Any] = {
            "status": "ready" if ready else "not_ready",
            "database": "down" if waiting is None else "up",
            "broker": "up" if self._bus.connected else "down",
        }
        if waiting is not None:
            facts["outbox"] = waiting
        return ready, facts

    async def metrics(self) -> bytes:
        """Everything that is counted; gauges keep their last value while what they look at is away."""
        if self._expose is None:
            return b""
        if self._observe is not None:
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._observe()
            except (StoreUnavailable, TimeoutError) as error:
                _log.debug("gauges_not_refreshed", extra={"reason": str(error)})
        return self._expose()

    async def _outbox(self) -> int | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._database.reading() as unit:
                return await outbox.count(unit)
        except (StoreUnavailable, TimeoutError):
            return None
