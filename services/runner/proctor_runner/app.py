"""Puts a runner together; the same for the embedded mode and for a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

from proctor_chassis.bus import Bus, Listener, Subscription
from proctor_chassis.clock import Clock, SystemClock
from proctor_chassis.worker import Worker
from proctor_contracts.messages import CaseExecuted, CaseRequested
from proctor_contracts.topology import case_key, runner_queue
from proctor_grading.context import LanguageDetector, RegexEngine

from .attempts import Attempts, ModelSource
from .gateway.webhook import HandlerCaller
from .grader import Grader
from .handlers import Handlers
from .redaction import Redaction
from .settings import RunnerSettings

__all__ = ["RunnerService", "create_runner"]


class RunnerService:
    """A runner of one pool; collaborators that were passed in stay their owner's to close."""

    def __init__(self, *, worker: Worker[CaseRequested, CaseExecuted], settings: RunnerSettings) -> None:
        self._worker = worker
        self._settings = settings

    def subscriptions(self) -> Sequence[Subscription]:
        """The queue of its pool, or of each of its pools."""
        return tuple(
            Subscription(
                queue=runner_queue(pool),
                models={case_key(pool): CaseRequested},
                handler=self._worker.handle,
                concurrency=self._settings.concurrency,
            )
            for pool in (self._settings.pool, *self._settings.other_pools)
        )

    def listeners(self) -> Sequence[Listener]:
        """Cancelled runs."""
        return self._worker.listeners()

    async def start(self) -> None:
        """Learn which runs are cancelled and begin to beat."""
        await self._worker.start()

    async def drain(self, *, seconds: float) -> None:
        """Let the cases in hand end, at most this long."""
        await self._worker.drain(seconds=seconds)

    async def stop(self) -> None:
        """Drop what still runs and fall silent."""
        await self._worker.stop()


def create_runner(
    *,
    settings: RunnerSettings,
    bus: Bus,
    models: ModelSource,
    handlers: HandlerCaller,
    redactor: Redaction,
    regex: RegexEngine,
    regex_thread: Executor,
    languages: LanguageDetector | None = None,
    clock: Clock | None = None,
) -> RunnerService:
    """Wire a runner; `regex_thread` is the one thread of this process that evaluates expressions."""
    clock = clock or SystemClock()
    attempts = Attempts(
        models=models,
        handlers=handlers,
        grader=Grader(thread=regex_thread),
        regex=regex,
        languages=languages,
        redactor=redactor,
        clock=clock,
        worker_id=settings.worker_id,
    )
    worker = Worker[CaseRequested, CaseExecuted](
        bus=bus,
        work=Handlers(bus=bus, attempts=attempts).case_requested,
        service="runner",
        worker_id=settings.worker_id,
        pool=settings.pool,
        concurrency=settings.concurrency,
        clock=clock,
    )
    return RunnerService(worker=worker, settings=settings)
