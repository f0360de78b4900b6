"""Puts a judge together; the same for the embedded mode and for a process of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence

from proctor_chassis.bus import Bus, Listener, Subscription
from proctor_chassis.clock import Clock, SystemClock
from proctor_chassis.worker import Worker
from proctor_contracts.messages import CaseJudged, JudgeRequested
from proctor_contracts.topology import DEFAULT_POOL, JUDGE_CASES

from .handlers import Handlers
from .judging import Judging, ModelSource, Redaction
from .settings import JudgeServiceSettings

__all__ = ["JudgeService", "create_judge"]


class JudgeService:
    """A judge; collaborators that were passed in stay their owner's to close."""

    def __init__(self, *, worker: Worker[JudgeRequested, CaseJudged], concurrency: int) -> None:
        self._worker = worker
        self._concurrency = concurrency

    def subscriptions(self) -> Sequence[Subscription]:
        """The queue of executed cases that want judging."""
        return (
            Subscription(
                queue=JUDGE_CASES,
                models={"judge.requested": JudgeRequested},
                handler=self._worker.handle,
                concurrency=self._concurrency,
            ),
        )

    def listeners(self) -> Sequence[Listener]:
        """Cancelled runs."""
        return self._worker.listeners()

    async def start(self) -> None:
        """Learn which runs are cancelled and begin to beat."""
        await self._worker.start()

    async def drain(self, *, seconds: float) -> None:
        """Let the judging in hand end, at most this long."""
        await self._worker.drain(seconds=seconds)

    async def stop(self) -> None:
        """Drop what still runs and fall silent."""
        await self._worker.stop()


def create_judge(
    *,
    settings: JudgeServiceSettings,
    bus: Bus,
    models: ModelSource,
    redactor: Redaction,
    clock: Clock | None = None,
    rng: random.Random | None = None,
) -> JudgeService:
    """Wire a judge; `rng` makes the nonces and is the system's unless a test says otherwise."""
    clock = clock or SystemClock()
    judging = Judging(
        models=models,
        redactor=redactor,
        clock=clock,
        worker_id=settings.worker_id,
        rng=rng or random.SystemRandom(),
        calls_at_once=settings.calls_at_once,
    )
    worker = Worker[JudgeRequested, CaseJudged](
        bus=bus,
        work=Handlers(judging=judging).judge_requested,
        service="judge",
        worker_id=settings.worker_id,
        pool=DEFAULT_POOL,
        concurrency=settings.concurrency,
        clock=clock,
    )
    return JudgeService(worker=worker, concurrency=settings.concurrency)
