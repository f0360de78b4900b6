"""A worker: takes jobs from a queue, does each once, says what came of it, drops those of cancelled runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from proctor_contracts.messages import RunMessage

from .bus import Bus, Listener, Meta
from .cancelled import CancelledRuns
from .clock import Clock
from .heartbeat import Heartbeat
from .joining import JobCancelled, Joined

__all__ = ["Worker"]

Job = TypeVar("Job", bound=RunMessage)
Fact = TypeVar("Fact", bound=RunMessage)


class Worker(Generic[Job, Fact]):
    """Joins redeliveries, publishes facts, keeps a heartbeat and hears of cancelled runs.

    `work` turns a job into its fact. The job's message is done when the bus has the fact.
    """

    def __init__(
        self,
        *,
        bus: Bus,
        work: Callable[[Job], Coroutine[Any, Any, Fact]],
        service: Literal["runner", "judge"],
        worker_id: str,
        pool: str,
        concurrency: int,
        clock: Clock,
    ) -> None:
        self._bus = bus
        self._work = work
        self._joined = Joined[Fact](clock=clock)
        self._cancelled = CancelledRuns(clock=clock)
        self._heartbeat = Heartbeat(
            bus=bus,
            worker_id=worker_id,
            service=service,
            pool=pool,
            concurrency=concurrency,
            in_flight=lambda: self._joined.in_flight,
            on_cancelled=self.runs_cancelled,
            clock=clock,
        )
        self._handling = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def handle(self, job: Job, _meta: Meta) -> None:
        """Do a job; one of a cancelled run is dropped without a word, its result is cancelled already."""
        if job.run_id in self._cancelled:
            return
        self._handling += 1
        self._idle.clear()
        try:
            fact = await self._joined.run(job.id(), lambda: self._work(job))
            await self._bus.publish(fact)
        except JobCancelled:
            return
        finally:
            self._handling -= 1
            if self._handling == 0:
                self._idle.set()

    def runs_cancelled(self, run_ids: tuple[UUID, ...]) -> None:
        """Stop the jobs of these runs at once, and remember the runs for jobs that are still in a queue."""
        self._cancelled.add(run_ids)
        gone = frozenset(map(str, run_ids))
        self._joined.cancel(lambda job_id: job_id.partition(":")[0] in gone)

    def listeners(self) -> tuple[Listener, ...]:
        """What has to listen before the first job is taken."""
        return (self._heartbeat.listener,)

    async def start(self) -> None:
        """Ask which runs were cancelled lately, then begin to beat; take jobs after this."""
        await self._heartbeat.ask_cancelled()
        await self._heartbeat.start()

    async def drain(self, *, seconds: float) -> None:
        """Wait for the jobs in hand, at most this long; the bus must be paused."""
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return

    async def stop(self) -> None:
        """Say goodbye and drop what still runs: the broker gives it to another worker."""
        await self._heartbeat.stop()
        await self._joined.cancel_all()
