"""One conversation for one job, however often the job is delivered."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from .bus.errors import RetryLater
from .clock import Clock, SystemClock

__all__ = ["JobCancelled", "Joined"]

_log = logging.getLogger(__name__)
T = TypeVar("T")


class JobCancelled(Exception):
    """The job was called off while somebody awaited it; there is nothing more to do for its message."""


class Joined(Generic[T]):
    """Runs each job once: a second delivery joins the first, and finds its result for a while afterwards.

    A lost connection cancels whoever awaits, not the job; the same message is then delivered again and joins.
    A job that failed is forgotten at once, so that its next delivery tries anew. Results are kept for
    `keep_seconds`, at most `keep` of them: only what was in hand when a connection broke is asked for again.
    """

    def __init__(self, *, clock: Clock | None = None, keep_seconds: float = 60.0, keep: int = 1000) -> None:
        self._clock = clock or SystemClock()
        self._keep_seconds = keep_seconds
        self._keep = keep
        self._tasks: dict[str, asyncio.Task[T]] = {}
        self._done: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._closing = False

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The jobs that run now."""
        return tuple(self._tasks)

    async def run(self, job_id: str, factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await the job's result, starting it if nobody has; raises what it raised.

        Raises `JobCancelled` after `cancel`, and `RetryLater` when this process stops.
        """
        self._expire()
        if job_id in self._done:
            return self._done[job_id][1]
        task = self._tasks.get(job_id)
        if task is None:
            if self._closing:
                raise RetryLater("this worker is stopping")
            task = self._tasks[job_id] = asyncio.get_running_loop().create_task(factory())
            task.add_done_callback(lambda finished: self._finished(job_id, finished))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            awaiting = asyncio.current_task()
            if not task.cancelled() or (awaiting is not None and awaiting.cancelling()):
                raise
            # The job was cancelled, not we; a handler that looks cancelled never acknowledges its message.
            if self._closing:
                raise RetryLater("this worker is stopping") from None
            raise JobCancelled(job_id) from None

    def cancel(self, wanted: Callable[[str], bool]) -> int:
        """Call off the running jobs whose id is wanted; returns how many."""
        chosen = [task for job_id, task in self._tasks.items() if wanted(job_id)]
        for task in chosen:
            task.cancel()
        return len(chosen)

    async def cancel_all(self) -> None:
        """Call off everything and start nothing more: this process stops, others take its jobs."""
        self._closing = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _finished(self, job_id: str, task: asyncio.Task[T]) -> None:
        del self._tasks[job_id]
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            # Whoever awaits reports it; when the connection took them away, nobody does.
            _log.debug("job.failed", exc_info=error, extra={"job": job_id})
            return
        self._done[job_id] = (self._clock.monotonic(), task.result())
        while len(self._done) > self._keep:
            self._done.popitem(last=False)

    def _expire(self) -> None:
        oldest_kept = self._clock.monotonic() - self._keep_seconds
        while self._done:
            job_id, (finished, _) = next(iter(self._done.items()))
            if finished > oldest_kept:
                return
            del self._done[job_id]
