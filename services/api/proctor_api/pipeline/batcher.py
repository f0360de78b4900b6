"""Group commit: what arrives together is written in one transaction, and each sender waits for its batch."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Batcher"]

T = TypeVar("T")

MAX_ITEMS = 200


class Batcher(Generic[T]):
    """Collects items while a batch is being written and writes them as the next one.

    No timer: an item that arrives alone is written at once, and under load batches grow by themselves. When a
    batch fails for a reason other than `shared` errors (which concern every item alike, such as a database that
    is away), its items are written one by one, so that a poisonous item fails alone.
    """

    def __init__(
        self,
        write: Callable[[Sequence[T]], Awaitable[None]],
        *,
        shared: tuple[type[Exception], ...] = (),
        max_items: int = MAX_ITEMS,
    ) -> None:
        self._write = write
        self._shared = shared
        self._max = max_items
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin writing batches."""
        self._task = asyncio.create_task(self._run(), name="group-commit")

    async def stop(self) -> None:
        """Stop; items still waiting are cancelled and come again by redelivery."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for _, done in self._waiting:
            done.cancel()

    async def add(self, item: T) -> None:
        """Write an item with what else is waiting; returns once it is durable, raises what its write raised."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        self._arrived.set()
        await done

    async def _run(self) -> None:
        while True:
            await self._arrived.wait()
            # One turn of the loop lets everything that is ready arrive, so that it shares the commit.
            await asyncio.sleep(0)
            batch, self._waiting = self._waiting[: self._max], self._waiting[self._max :]
            if not self._waiting:
                self._arrived.clear()
            await self._settle([entry for entry in batch if not entry[1].done()])

    async def _settle(self, batch: list[tuple[T, asyncio.Future[None]]]) -> None:
        if not batch:
            return
        try:
            await self._write([item for item, _ in batch])
        except asyncio.CancelledError:
            for _, done in batch:
                done.cancel()
            raise
        except Exception as error:
            if len(batch) == 1 or isinstance(error, self._shared):
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
                return
            for entry in batch:
                await self._settle([entry])
            return
        for _, done in batch:
            if not done.done():
                done.set_result(None)
