"""Ticks of schedules that come over the bus: each becomes a run, which only the API can write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import ValidationError

from proctor_chassis.bus.port import DeadLetter, Meta, Subscription
from proctor_contracts.messages import ScheduleFired
from proctor_contracts.topology import API_SCHEDULES

from .outage import again_when_away

if TYPE_CHECKING:  # most processes that could fire have no schedules
    from .usecases.firings import Firings

__all__ = ["Firing"]

CONCURRENCY = 8


class Firing:
    """Starts the runs that the scheduler asks for; `firings` is first asked for when one is."""

    def __init__(self, *, firings: Callable[[], Firings]) -> None:
        self._firings = firings

    def subscription(self) -> Subscription:
        """The queue of fired ticks."""
        return Subscription(
            queue=API_SCHEDULES,
            models={"schedule.fired": ScheduleFired},
            handler=self.fired,
            concurrency=CONCURRENCY,
        )

    async def fired(self, event: ScheduleFired, _meta: Meta) -> None:
        """Start one run; hearing of its tick again changes nothing.

        Raises:
            RetryLater: when the database is away.
        """
        with again_when_away():
            await self._firings().fire(event)

    async def given_up(self, letter: DeadLetter) -> None:
        """Write into the tick that its message was given up, so that its schedule does not wait for ever.

        Raises:
            RetryLater: when the database is away.
        """
        try:
            event = ScheduleFired.read(letter.body)
        except ValidationError:
            return
        reason = f"{letter.queue} gave the message up ({letter.reason}); look at the API's log"
        with again_when_away():
            await self._firings().give_up(event, reason)
