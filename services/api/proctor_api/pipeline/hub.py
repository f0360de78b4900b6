"""Live events of runs, fanned out in memory to whoever watches on this replica."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from proctor_contracts.messages import LiveEvent, LiveHint

__all__ = ["Hub", "Watcher"]

MAX_PENDING = 1_000


class Watcher:
    """One client on one run: woken when there is more, with the transient events it may still show."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._pending: list[LiveEvent] = []

    def wake(self) -> None:
        """Say that the database has more."""
        self._woken.set()

    def offer(self, event: LiveEvent) -> None:
        """Pass a transient event on; a slow client loses the ones that do not fit."""
        if len(self._pending) < MAX_PENDING:
            self._pending.append(event)
        self._woken.set()

    def take(self) -> list[LiveEvent]:
        """Take the transient events so far."""
        taken, self._pending = self._pending, []
        return taken

    async def wait(self, seconds: float) -> bool:
        """Wait until woken, or as long as a lost hint may cost; says whether it was woken."""
        try:
            async with asyncio.timeout(seconds):
                return await self._woken.wait()
        except TimeoutError:
            return False
        finally:
            self._woken.clear()


class Hub:
    """Who watches which run."""

    def __init__(self) -> None:
        self._watchers: dict[UUID, set[Watcher]] = {}

    @property
    def watching(self) -> int:
        """How many clients watch."""
        return sum(map(len, self._watchers.values()))

    def heard(self, message: LiveHint | LiveEvent) -> None:
        """Pass on what came over the bus."""
        for watcher in self._watchers.get(message.run_id, ()):
            if isinstance(message, LiveEvent):
                watcher.offer(message)
            else:
                watcher.wake()

    @contextmanager
    def watch(self, run_id: UUID) -> Iterator[Watcher]:
        """Watch a run for the length of the block."""
        watcher = Watcher()
        self._watchers.setdefault(run_id, set()).add(watcher)
        try:
            yield watcher
        finally:
            watchers = self._watchers[run_id]
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[run_id]
