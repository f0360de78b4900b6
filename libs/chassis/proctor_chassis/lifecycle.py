"""From start to signal to a clean end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence

__all__ = ["SIGNALS", "run_service"]

_log = logging.getLogger(__name__)
SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def run_service(
    start: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[None]],
    *,
    signals: Sequence[signal.Signals] = SIGNALS,
    until: asyncio.Event | None = None,
) -> None:
    """Start, wait for a signal (or `until`), stop; a second signal cuts the stop short.

    `stop` pauses consuming, lets handlers finish within its grace and closes; it is called however the start
    ended.
    """
    told = until or asyncio.Event()
    hurry = asyncio.Event()

    def tell(number: signal.Signals) -> None:
        _log.info("service.signal", extra={"signal": number.name})
        if told.is_set():
            hurry.set()
        told.set()

    loop = asyncio.get_running_loop()
    for number in signals:
        loop.add_signal_handler(number, tell, number)
    try:
        try:
            await _first(start(), told.wait())
            await told.wait()
        finally:
            await _first(stop(), hurry.wait())
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
    _log.info("service.stopped")


async def _first(work: Awaitable[None], interruption: Awaitable[object]) -> None:
    """Await the work, or cancel it when the interruption comes first; raises what the work raised."""
    doing = asyncio.ensure_future(work)
    waiting = asyncio.ensure_future(interruption)
    try:
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if not doing.done():
            doing.cancel()
        results = await asyncio.gather(doing, waiting, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]
