"""Group commit: what arrives together is written in one transaction, and each sender waits for its batch."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Batcher", "Stopped"]

T = TypeVar("T")

MAX_ITEMS = 200


class Stopped(Exception):
    """The batcher stopped before the item was durable; whoever sent it has to send it again elsewhere."""


class Batcher(Generic[T]):
    """Collects items while a batch is being written and writes them as the next one.

    An item that arrives alone is written at once, and under load batches grow by themselves: while one is
    being written, and for `apart()` seconds after it where writing takes next to no time.

    When a batch fails for a reason other than `shared` errors (which concern every item alike, such as a
    database that is away), its items are written one by one, so that a poisonous item fails alone.
    """

    def __init__(
        self,
        write: Callable[[Sequence[T]], Awaitable[None]],
        *,
        shared: tuple[type[Exception], ...] = (),
        max_items: int = MAX_ITEMS,
        apart: Callable[[], float] = float,
    ) -> None:
        self._write = write
        self._apart = apart
        self._shared = shared
        self._max = max_items
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin writing batches."""
        self._task = asyncio.create_task(self._run(), name="group-commit")

    async def stop(self) -> None:
        """Stop; whoever waits for an item hears `Stopped`."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        _fail(self._waiting, Stopped())
        self._waiting.clear()

    async def add(self, item: T) -> None:
        """Write an item with what else is waiting; returns once it is durable, raises what its write raised.

        Raises:
            Stopped: when it may not have been written because of `stop`.
        """
        if self._stopped:
            raise Stopped
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        self._arrived.set()
        await done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        written = loop.time() - self._apart()
        while True:
            await self._arrived.wait()
            # One turn of the loop at least lets everything that is ready arrive, to share the commit.
            await asyncio.sleep(max(0.0, written + self._apart() - loop.time()))
            batch, self._waiting = self._waiting[: self._max], self._waiting[self._max :]
            if not self._waiting:
                self._arrived.clear()
            try:
                await self._settle([entry for entry in batch if not entry[1].done()])
            finally:
                # Nobody may wait for ever, whatever ended this.
                _fail(batch, Stopped())
            written = loop.time()

    async def _settle(self, batch: list[tuple[T, asyncio.Future[None]]]) -> None:
        if not batch:
            return
        try:
            await self._write([item for item, _ in batch])
        except Exception as error:  # noqa: BLE001 - whoever sent the item hears of it
            if len(batch) == 1 or isinstance(error, self._shared):
                _fail(batch, error)
                return
            for entry in batch:
                await self._settle([entry])
            return
        for _, done in batch:
            if not done.done():
                done.set_result(None)


def _fail(entries: Sequence[tuple[object, asyncio.Future[None]]], error: Exception) -> None:
    for _, done in entries:
        if not done.done():
            done.set_exception(error)
