"""Puts the alerter together."""

from __future__ import annotations

from collections.abc import Sequence

from proctor_chassis.bus import Listener, Subscription
from proctor_contracts.messages import RunCompleted
from proctor_contracts.topology import ALERTER_RUNS

from .handlers import Handlers
from .settings import AlerterSettings

__all__ = ["AlerterService", "create_alerter"]


class AlerterService:
    """Takes completed runs off its queue; each is one log line, and counted with the queue's messages."""

    def __init__(self, *, handlers: Handlers, settings: AlerterSettings) -> None:
        self._handlers = handlers
        self._settings = settings

    def subscriptions(self) -> Sequence[Subscription]:
        """The alerter's own queue of completed runs."""
        return (
            Subscription(
                queue=ALERTER_RUNS,
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


def create_alerter(*, settings: AlerterSettings | None = None) -> AlerterService:
    """Wire the alerter."""
    return AlerterService(handlers=Handlers(), settings=settings or AlerterSettings())
