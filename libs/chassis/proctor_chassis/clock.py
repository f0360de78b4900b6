"""Time as an argument: the system's clock, and what tests put in its place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "Timer"]


class Timer(Protocol):
    """A call that has been arranged and can be called off."""

    def cancel(self) -> None:
        """Call it off; nothing happens if it has run."""
        ...


class Clock(Protocol):
    """Where a collaborator reads the time and arranges to be woken."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        ...

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Arrange a call on the running event loop."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The real clock."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        return time.monotonic()

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Arrange a call on the running event loop."""
        return asyncio.get_running_loop().call_later(seconds, call)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
