"""What a consumer does while the database is away: it has the message delivered again later."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from proctor_chassis.bus.port import RetryLater
from proctor_store.session import StoreUnavailable

__all__ = ["Outage"]

RETRY_SECONDS = 5
_log = logging.getLogger(__name__)


class Outage:
    """Knows whether the database is away, and logs once when it goes and when it is back."""

    def __init__(self) -> None:
        self.away = False

    def began(self, error: StoreUnavailable) -> None:
        """Note that the database was not there."""
        if not self.away:
            _log.warning("database_away", extra={"reason": str(error)})
        self.away = True

    def ended(self) -> None:
        """Note that the database was there."""
        if self.away:
            _log.info("database_back")
        self.away = False

    @contextmanager
    def again_later(self) -> Iterator[None]:
        """Run the block.

        Raises:
            RetryLater: when the database is away, which is never the message's fault.
        """
        try:
            yield
        except StoreUnavailable as error:
            self.began(error)
            raise RetryLater("the database is away", after=RETRY_SECONDS) from error
        self.ended()
