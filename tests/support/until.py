"""Waiting for a state that nothing announces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

__all__ = ["until"]

LOOK_EVERY = 0.02


async def until(condition: Callable[[], bool], *, within: float = 20.0) -> None:
    """Return when the condition holds; `TimeoutError` when it does not within this many seconds."""
    never = asyncio.Event()
    async with asyncio.timeout(within):
        while not condition():
            with suppress(TimeoutError):
                await asyncio.wait_for(never.wait(), LOOK_EVERY)
