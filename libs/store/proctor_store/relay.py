"""The relay: takes messages out of the outbox and gives them to the broker, at least once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from .repositories import outbox
from .repositories.outbox import Waiting
from .session import Database, StoreUnavailable

__all__ = ["Relay", "Undeliverable"]

log = logging.getLogger(__name__)

BATCH = 200
POLL_SECONDS = 1.0


class Undeliverable(Exception):
    """The broker will never take this message: it is too large or no queue wants it."""


class Relay:
    """Drains the outbox whenever it is woken, and every second as a net.

    `publish` returns once the broker has confirmed, raises `Undeliverable` for a message that can never go,
    and anything else when the broker is away; the message then stays. `undeliverable` hears of buried
    messages, so that their cases can end in `error`; `relayed` hears of those that are out.
    """

    def __init__(
        self,
        *,
        database: Database,
        publish: Callable[[Waiting], Awaitable[None]],
        undeliverable: Callable[[Waiting, str], Awaitable[None]],
        relayed: Callable[[Sequence[Waiting]], Awaitable[None]],
        clock: Callable[[], datetime],
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._database = database
        self._publish = publish
        self._undeliverable = undeliverable
        self._relayed = relayed
        self._clock = clock
        self._poll = poll_seconds
        self._wake = asyncio.Event()
        self._buried: list[tuple[Waiting, str]] = []
        self._failing = False
        self._database_away = False
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Say that something was committed."""
        self._wake.set()

    def start(self) -> None:
        """Begin relaying."""
        self._task = asyncio.create_task(self._run(), name="outbox-relay")

    async def stop(self) -> None:
        """Stop; what was not confirmed stays in the outbox."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                while await self.drain() == BATCH:
                    pass
                self._database_away = False
            except StoreUnavailable:
                if not self._database_away:
                    log.warning("outbox_database_away")
                self._database_away = True
            except Exception:
                log.exception("outbox_relay_failed")
            # Not wait_for, which until Python 3.12 may swallow a stop that comes together with the wake.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll):
                    await self._wake.wait()

    async def drain(self) -> int:
        """Relay one batch; returns how many messages left, buried ones included."""
        await self._tell_buried()
        buried: list[tuple[Waiting, str]] = []
        async with self._database.transaction() as unit:
            waiting = await outbox.take(unit, limit=BATCH)
            if not waiting:
                self._failing = False
                return 0
            answers = await asyncio.gather(*(self._publish(m) for m in waiting), return_exceptions=True)
            sent: list[Waiting] = []
            kept: list[BaseException] = []
            for message, answer in zip(waiting, answers, strict=True):
                match answer:
                    case None:
                        sent.append(message)
                    case Undeliverable():
                        await outbox.bury(unit, message, reason=str(answer), now=self._clock())
                        buried.append((message, str(answer)))
                    case BaseException():
                        kept.append(answer)
            await outbox.remove(unit, [message.row for message in sent])
        self._report(kept)
        self._buried += buried
        await self._tell_buried()
        if sent:
            await self._relayed(sent)
        return len(sent) + len(buried)

    def _report(self, kept: Sequence[BaseException]) -> None:
        """Say once that messages wait, however often they are tried and however many they are."""
        if kept and not self._failing:
            log.warning("outbox_publish_failed", extra={"messages": len(kept), "why": str(kept[0])})
        self._failing = bool(kept)

    async def _tell_buried(self) -> None:
        """Say what was buried; what cannot be told now, because the database went away, is told next time."""
        while self._buried:
            await self._undeliverable(*self._buried[0])
            self._buried.pop(0)
