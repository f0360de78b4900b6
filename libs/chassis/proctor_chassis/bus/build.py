"""Choose the adapter from what the process was told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor_chassis.metrics import Meters
from proctor_chassis.settings import BusSettings

from .port import Bus

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["bus_from"]


def bus_from(
    settings: BusSettings,
    *,
    meters: Meters | None = None,
    registry: CollectorRegistry | None = None,
    name: str = "proctor",
) -> Bus:
    """Build the RabbitMQ adapter when there is a URL, else the one inside the process."""
    # Each adapter brings libraries that the other does without.
    if settings.amqp_url is None:
        from .inprocess import InProcessBus  # noqa: PLC0415 - see above

        return InProcessBus(pools=settings.pools, meters=meters)
    from .rabbit import RabbitBus  # noqa: PLC0415 - see above

    shown = registry if settings.detailed_metrics else None
    return RabbitBus(settings.amqp_url, pools=settings.pools, meters=meters, registry=shown, name=name)
