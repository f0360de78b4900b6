"""A worker's sign of life, and its question for the runs that were cancelled while it was away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Literal
from uuid import UUID

from proctor_contracts.messages import RunCancelled, WorkerHeartbeat
from proctor_contracts.topology import CONTROL

from .bus.port import Bus, Listener
from .clock import Clock, SystemClock

__all__ = ["ANSWER_SECONDS", "BEAT_SECONDS", "Heartbeat"]

BEAT_SECONDS = 5.0
LOOK_SECONDS = 1.0
ANSWER_SECONDS = 2.0


class Heartbeat:
    """Announces one worker and hears about cancelled runs.

    Begin with `listener`, then `ask_cancelled`, then consume, then `start`. It asks again within a second of
    losing the connection to the broker, however short that was, since what was broadcast meanwhile is missed.
    """

    def __init__(
        self,
        *,
        bus: Bus,
        worker_id: str,
        service: Literal["runner", "judge"],
        pool: str,
        concurrency: int,
        in_flight: Callable[[], Iterable[str]],
        on_cancelled: Callable[[tuple[UUID, ...]], None],
        clock: Clock | None = None,
    ) -> None:
        self._bus = bus
        self._worker_id = worker_id
        self._service: Literal["runner", "judge"] = service
        self._pool = pool
        self._concurrency = concurrency
        self._in_flight = in_flight
        self._on_cancelled = on_cancelled
        self._clock = clock or SystemClock()
        self._answered = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._asked_on = bus.connections

    @property
    def listener(self) -> Listener:
        """What hears of cancelled runs; start it before the work."""
        return Listener(exchange=CONTROL, models={"run.cancelled": RunCancelled}, handler=self._hear)

    async def ask_cancelled(self, *, seconds: float = ANSWER_SECONDS) -> bool:
        """Ask for the runs cancelled lately and wait for the answer, not longer than this; says if it came.

        A bus inside this process has lost nothing, so there it does not wait.
        """
        self._answered.clear()
        self._asked_on = self._bus.connections
        await self._announce(starting=True)
        if self._bus.local:
            return True
        waiting = asyncio.ensure_future(self._answered.wait())
        limit = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait({waiting, limit}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            limit.cancel()
        return self._answered.is_set()

    async def start(self) -> None:
        """Announce now and every five seconds, and notice lost connections."""
        await self._announce()
        self._task = asyncio.create_task(self._beat())

    async def stop(self) -> None:
        """Announce that this worker takes no more jobs, and fall silent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._announce(stopping=True)

    async def _beat(self) -> None:
        silent = 0.0
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            silent += LOOK_SECONDS
            missed = self._bus.connected and self._bus.connections != self._asked_on
            if missed:
                self._asked_on = self._bus.connections
                await self._announce(starting=True)
            if silent >= BEAT_SECONDS:
                silent = 0.0
                await self._announce()

    async def _announce(self, *, starting: bool = False, stopping: bool = False) -> None:
        await self._bus.announce(
            WorkerHeartbeat(
                worker_id=self._worker_id,
                service=self._service,
                pool=self._pool,
                concurrency=self._concurrency,
                in_flight=tuple(self._in_flight()),
                starting=starting,
                stopping=stopping,
                at=self._clock.now(),
            )
        )

    def _hear(self, message: RunCancelled) -> None:
        if message.worker_id not in {None, self._worker_id}:
            return
        self._on_cancelled(message.run_ids)
        if message.worker_id == self._worker_id:
            self._answered.set()
