"""What the API takes off the bus beside the reports of workers: captures, ends of runs, ticks, suspicions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from proctor_chassis.bus.port import DeadLetter, Subscription
from proctor_chassis.metrics import Meters
from proctor_contracts.topology import API_SCHEDULES

from .advancing import Advancing
from .confirming import Confirming
from .firing import Firing
from .intake import CaptureIntake

if TYPE_CHECKING:
    from .wiring import Services

__all__ = ["Consumers"]


class Consumers:
    """The consumers put together; `services` is first asked for when a message comes."""

    def __init__(self, *, services: Callable[[], Services], meters: Meters) -> None:
        self._intake = CaptureIntake(captures=lambda: services().captures, meters=meters)
        self._advancing = Advancing(rounds=lambda: services().rounds)
        self._confirming = Confirming(confirmations=lambda: services().confirmations)
        self._firing = Firing(firings=lambda: services().firings)

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Their queues."""
        return (
            self._intake.subscription(),
            self._advancing.subscription(),
            self._confirming.subscription(),
            self._firing.subscription(),
        )

    @property
    def given_up(self) -> Mapping[str, Callable[[DeadLetter], Awaitable[None]]]:
        """Who hears of the dead letters of a queue."""
        return {API_SCHEDULES.name: self._firing.given_up}
