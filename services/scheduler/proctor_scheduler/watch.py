"""The scheduler's loop: what is due every second, what waits whenever something may have changed."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from proctor_chassis.clock import Clock
from proctor_chassis.outage import Outage
from proctor_store.session import StoreUnavailable

from .recounting import Recounting
from .settings import SchedulerSettings
from .ticking import Ticking

__all__ = ["Watch"]

log = logging.getLogger(__name__)


class Watch:
    """Looks until it is stopped; whatever happens in one look, there is a next one."""

    def __init__(
        self,
        *,
        ticking: Ticking,
        recounting: Recounting,
        clock: Clock,
        outage: Outage,
        settings: SchedulerSettings,
    ) -> None:
        self._ticking = ticking
        self._recounting = recounting
        self._clock = clock
        self._outage = outage
        self._settings = settings
        self._wake = asyncio.Event()
        self._thorough_at = self._recount_at = clock.monotonic()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Look at once, at what waits too: something that was waited for may have come."""
        self._wake.set()

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run(), name="schedules")

    async def stop(self) -> None:
        """Stop; a look in hand is rolled back whole."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            woken = self._wake.is_set()
            self._wake.clear()
            try:
                await self._look(woken=woken)
                self._outage.ended()
            except StoreUnavailable as error:
                self._outage.began(error)
            except Exception:
                log.exception("schedules_look_failed")
            await self._pause()

    async def _look(self, *, woken: bool) -> None:
        if (at := self._clock.monotonic()) >= self._recount_at:
            await self._recounting.recount()
            self._recount_at = at + _seconds(self._settings.recount)
        thorough = woken or at >= self._thorough_at
        await self._ticking.look(thorough=thorough)
        if thorough:
            self._thorough_at = at + _seconds(self._settings.patience)

    async def _pause(self) -> None:
        woken = asyncio.ensure_future(self._wake.wait())
        passed = asyncio.ensure_future(self._clock.sleep(_seconds(self._settings.poll)))
        try:
            await asyncio.wait({woken, passed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            passed.cancel()


def _seconds(time: timedelta) -> float:
    return time.total_seconds()
