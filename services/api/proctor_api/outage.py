"""What a consumer of the bus does while the database is away: it has the message delivered again later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from proctor_chassis.bus.port import RetryLater
from proctor_store.session import StoreUnavailable

__all__ = ["again_when_away"]

RETRY_SECONDS = 5


@contextmanager
def again_when_away() -> Iterator[None]:
    """Run the block.

    Raises:
        RetryLater: when the database is away, which is never the message's fault.
    """
    try:
        yield
    except StoreUnavailable as error:
        raise RetryLater("the database is away", after=RETRY_SECONDS) from error
