"""Puts the scheduler together."""

from __future__ import annotations

from collections.abc import Sequence

from proctor_chassis.bus import Listener, Subscription
from proctor_contracts.messages import RunCompleted
from proctor_contracts.topology import SCHEDULER_RUNS

from .handlers import Handlers
from .settings import SchedulerSettings

__all__ = ["SchedulerService", "create_scheduler"]


class SchedulerService:
    """Takes completed runs off its queue; each is one log line, and counted with the queue's messages."""

    def __init__(self, *, handlers: Handlers, settings: SchedulerSettings) -> None:
        self._handlers = handlers
        self._settings = settings

    def subscriptions(self) -> Sequence[Subscription]:
        """The scheduler's own queue of completed runs."""
        return (
            Subscription(
                queue=SCHEDULER_RUNS,
                models={"run.completed": RunCompleted},
                handler=self._handlers.run_completed,
                concurrency=self._settings.concurrency,
            ),
        )

    def listeners(self) -> Sequence[Listener]:
        """None."""
        return ()

    async def start(self) -> None:
        """Nothing to prepare."""

    async def drain(self, *, seconds: float) -> None:
        """Nothing takes longer than a log line."""

    async def stop(self) -> None:
        """Nothing to let go of."""


def create_scheduler(*, settings: SchedulerSettings | None = None) -> SchedulerService:
    """Wire the scheduler."""
    return SchedulerService(handlers=Handlers(), settings=settings or SchedulerSettings())
