"""Remembers which runs were cancelled, so that their jobs are dropped when they come out of a queue later."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from uuid import UUID

from .clock import Clock

__all__ = ["CancelledRuns"]

DAY_SECONDS = 86_400.0


class CancelledRuns:
    """A bounded memory of run ids; an id is forgotten after a day, or when too many newer ones came."""

    def __init__(self, *, clock: Clock, keep_seconds: float = DAY_SECONDS, limit: int = 100_000) -> None:
        self._clock = clock
        self._keep_seconds = keep_seconds
        self._limit = limit
        self._since: OrderedDict[UUID, float] = OrderedDict()

    def __contains__(self, run_id: UUID) -> bool:
        return run_id in self._since

    def __len__(self) -> int:
        return len(self._since)

    def add(self, run_ids: Iterable[UUID]) -> None:
        """Remember runs as cancelled now."""
        now = self._clock.monotonic()
        for run_id in run_ids:
            self._since[run_id] = now
            self._since.move_to_end(run_id)
        while self._since:
            oldest = next(iter(self._since.values()))
            if len(self._since) <= self._limit and now - oldest <= self._keep_seconds:
                return
            self._since.popitem(last=False)
