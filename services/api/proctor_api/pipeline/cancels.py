"""Telling workers which runs were cancelled, when the broadcast of the moment may not have reached them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from proctor_contracts.messages import RunCancelled
from proctor_store.repositories import runs
from proctor_store.session import Database, StoreUnavailable

__all__ = ["Cancels"]

REMEMBERED = timedelta(hours=24)
LOOK_SECONDS = 1.0


class _Bus(Protocol):
    @property
    def connected(self) -> bool: ...

    @property
    def connections(self) -> int: ...

    async def announce(self, message: RunCancelled) -> None: ...


@dataclass(frozen=True, slots=True)
class Cancels:
    """Answers a worker that asks, and speaks up by itself after this replica was cut off from the broker.

    A cancel is written whether or not the broker is there; its broadcast is not.
    """

    database: Database
    bus: _Bus
    clock: Callable[[], datetime]

    async def tell(self, worker_id: str | None = None) -> bool:
        """Announce the runs cancelled lately, to one worker or to all; False when the database is away."""
        try:
            async with self.database.reading() as unit:
                cancelled = await runs.cancelled_since(unit, self.clock() - REMEMBERED)
        except StoreUnavailable:
            return False
        await self.bus.announce(RunCancelled(run_ids=tuple(cancelled), worker_id=worker_id))
        return True

    async def run(self, *, every_seconds: float = LOOK_SECONDS) -> None:
        """Tell all workers after each new connection, until cancelled."""
        told_on = self.bus.connections
        while True:
            await asyncio.sleep(every_seconds)
            seen = self.bus.connections
            if self.bus.connected and seen != told_on and await self.tell():
                told_on = seen
