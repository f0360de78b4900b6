"""Captures that come over the bus, from whoever the broker lets publish them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from proctor_chassis.bus.port import Meta, Permanent, Subscription
from proctor_chassis.metrics import Meters
from proctor_contracts.messages import CaptureRecorded
from proctor_contracts.topology import API_CAPTURES

from .errors import ApiError
from .outage import again_when_away

if TYPE_CHECKING:  # most processes that could take captures are sent none
    from .usecases.captures import Captures

__all__ = ["CaptureIntake"]

CONCURRENCY = 8
_CODES = {HTTPStatus.NOT_FOUND: "unknown_integration", HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too_large"}
_log = logging.getLogger(__name__)


class CaptureIntake:
    """Keeps what is pushed; what never can be kept goes to the dead letters with its reason.

    `captures` is first asked for when one comes.
    """

    def __init__(self, *, captures: Callable[[], Captures], meters: Meters) -> None:
        self._captures = captures
        self._meters = meters

    def subscription(self) -> Subscription:
        """The queue of captures."""
        return Subscription(
            queue=API_CAPTURES,
            models={"capture.recorded": CaptureRecorded},
            handler=self.record,
            concurrency=CONCURRENCY,
        )

    async def record(self, event: CaptureRecorded, _meta: Meta) -> None:
        """Keep one conversation; one that is there already changes nothing.

        Raises:
            Permanent: unknown_integration, too_large or invalid.
            RetryLater: when the database is away, which is never the event's fault.
        """
        try:
            with again_when_away():
                view, created = await self._captures().receive(event)
        except ApiError as error:
            # The error is not chained: its details would stand in the log, and may be somebody's data.
            code = _CODES.get(HTTPStatus(error.status), "invalid")
            raise Permanent(code, f"{error.detail} (integration {event.integration_id})") from None
        self._meters.captures.add(source=view.source.value, outcome="new" if created else "known")
        _log.info("capture.received", extra={"capture_id": str(view.id), "new": created})
