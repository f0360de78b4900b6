"""Suspected regressions that come over the bus: each wants one rerun, which only the API can write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from proctor_chassis.bus.port import Meta, RetryLater, Subscription
from proctor_contracts.messages import RegressionDetected
from proctor_contracts.topology import API_REGRESSIONS

from .outage import again_when_away

if TYPE_CHECKING:  # most processes that could confirm are asked for nothing
    from .usecases.confirmations import Confirmations

__all__ = ["Confirming"]

CONCURRENCY = 2
AGAIN_SECONDS = 300


class Confirming:
    """Starts confirming reruns; `confirmations` is first asked for when one is wanted."""

    def __init__(self, *, confirmations: Callable[[], Confirmations]) -> None:
        self._confirmations = confirmations

    def subscription(self) -> Subscription:
        """The queue of what the alerter found."""
        return Subscription(
            queue=API_REGRESSIONS,
            models={"regression.detected": RegressionDetected},
            handler=self.detected,
            concurrency=CONCURRENCY,
        )

    async def detected(self, event: RegressionDetected, _meta: Meta) -> None:
        """Start the rerun that is asked for, if any; hearing of it again changes nothing.

        Raises:
            RetryLater: when the database is away, or the account is out of money or quota for now.
        """
        if not event.confirm:
            return
        with again_when_away():
            done = await self._confirmations().confirm(event)
        if done.postponed:
            raise RetryLater("the account cannot start a run now", after=AGAIN_SECONDS)
