"""Ends of runs that come over the bus: what a comparison that goes on until it is decided waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from proctor_chassis.bus.port import Meta, Subscription
from proctor_contracts.messages import RunCompleted
from proctor_contracts.topology import API_COMPARES

from .outage import again_when_away

if TYPE_CHECKING:  # most processes that hear of runs compare nothing
    from .usecases.compare_rounds import CompareRounds

__all__ = ["Advancing"]

CONCURRENCY = 4


class Advancing:
    """Takes comparisons further when one of their runs is over; `rounds` is first asked for then."""

    def __init__(self, *, rounds: Callable[[], CompareRounds]) -> None:
        self._rounds = rounds

    def subscription(self) -> Subscription:
        """The queue of completed runs."""
        return Subscription(
            queue=API_COMPARES,
            models={"run.completed": RunCompleted},
            handler=self.completed,
            concurrency=CONCURRENCY,
        )

    async def completed(self, event: RunCompleted, _meta: Meta) -> None:
        """Look at the comparison that the run belongs to, if any; hearing of it again changes nothing.

        Raises:
            RetryLater: when the database is away.
        """
        if event.compare_run_id is None:
            return
        with again_when_away():
            await self._rounds().advance(event.account_id, event.compare_run_id)
