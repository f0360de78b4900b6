"""Something that a service needs and that is away for a while, said when it goes and when it is back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from .bus.errors import RetryLater

__all__ = ["Outage"]

RETRY_SECONDS = 5
_log = logging.getLogger(__name__)


class Outage:
    """Knows whether `what` is away; `failure` is the error that says so."""

    def __init__(self, what: str, failure: type[Exception]) -> None:
        self.away = False
        self._what = what
        self._failure = failure

    @property
    def problem(self) -> str | None:
        """What a probe says of it, such as `database_down`, or None."""
        return f"{self._what}_down" if self.away else None

    def began(self, error: Exception) -> None:
        """Note that it was not there."""
        if not self.away:
            _log.warning("%s_away", self._what, extra={"reason": str(error)})
        self.away = True

    def ended(self) -> None:
        """Note that it was there."""
        if self.away:
            _log.info("%s_back", self._what)
        self.away = False

    @contextmanager
    def again_later(self) -> Iterator[None]:
        """Run the block.

        Raises:
            RetryLater: when it is away, which is never a message's fault.
        """
        try:
            yield
        except self._failure as error:
            self.began(error)
            raise RetryLater(f"the {self._what} is away", after=RETRY_SECONDS) from error
        self.ended()
