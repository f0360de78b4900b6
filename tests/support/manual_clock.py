"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

__all__ = ["ManualClock"]

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(order=True)
class _Arranged:
    at: float
    number: int
    call: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A `Clock` whose time passes by `advance` or by `next`, the time of the earliest arranged call."""

    def __init__(self) -> None:
        self._now = 0.0
        self._arranged: list[_Arranged] = []
        self._numbers = itertools.count()
        self._changed = asyncio.Event()

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self._now)

    def monotonic(self) -> float:
        return self._now

    def call_later(self, seconds: float, call: Callable[[], None]) -> _Arranged:
        arranged = _Arranged(self._now + seconds, next(self._numbers), call)
        heapq.heappush(self._arranged, arranged)
        self._changed.set()
        return arranged

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        arranged = self.call_later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            arranged.cancel()

    def advance(self, seconds: float) -> None:
        """Let time pass and make the calls that come due."""
        until = self._now + seconds
        while self._arranged and self._arranged[0].at <= until:
            arranged = heapq.heappop(self._arranged)
            self._now = max(self._now, arranged.at)
            if not arranged.cancelled:
                arranged.call()
        self._now = until

    def waits(self) -> list[float]:
        """The seconds until each arranged call, earliest first."""
        return [each.at - self._now for each in sorted(self._arranged) if not each.cancelled]

    async def next(self, *, within: float = 10.0) -> float:
        """Wait (really, at most `within`) until something is arranged, then let time pass to it."""
        async with asyncio.timeout(within):
            while not self.waits():
                self._changed.clear()
                await self._changed.wait()
        seconds = self.waits()[0]
        self.advance(seconds)
        return seconds
