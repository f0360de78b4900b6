"""One connection to RabbitMQ: how it is made, kept and reported on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from faststream.rabbit import Channel, RabbitBroker
from typing_extensions import override
from yarl import URL

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["CONNECT_SECONDS", "broker_to", "middlewares_for", "stands"]

_log = logging.getLogger(__name__)
CONNECT_SECONDS = 5.0


def stands(broker: RabbitBroker) -> bool:
    """Whether the connection is there now."""
    connection = broker._connection  # noqa: SLF001 - `ping` asks the same and waits
    return connection is not None and connection.connected.is_set()


class _WithoutCancelled(logging.Filter):
    """Drops what FastStream says of each handler that a lost connection cancelled; we say it once."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


_faststream_log = logging.getLogger("proctor_chassis.bus.faststream")
_faststream_log.addFilter(_WithoutCancelled())


class _Report:
    """Says once that a connection was lost, and once that it is back; the client calls for every attempt."""

    def __init__(self, name: str, restored: Callable[[], None]) -> None:
        self._name = name
        self._restored = restored
        self._away = False

    def lost(self, _connection: object, error: BaseException | None) -> None:
        if self._away or error is None or isinstance(error, asyncio.CancelledError):
            return
        self._away = True
        fields = {"connection": self._name, "error": f"{type(error).__name__}: {error}"}
        _log.warning("bus.connection_lost", extra=fields)

    def found(self, _connection: object) -> None:
        self._away = False
        _log.warning("bus.connection_restored", extra={"connection": self._name})
        self._restored()


def middlewares_for(registry: CollectorRegistry | None) -> Sequence[Any]:
    """Let FastStream count into this registry; one set for both connections."""
    if registry is None:
        return ()
    from .rabbit_counting import counting_middleware  # noqa: PLC0415 - only where scraped

    return (counting_middleware(registry),)


def broker_to(
    url: str,
    name: str,
    middlewares: Sequence[Any],
    retry_seconds: float,
    *,
    restored: Callable[[], None],
) -> RabbitBroker:
    """Describe one connection; nothing is opened yet. `restored` is called when it was lost and is back."""
    report = _Report(name, restored)
    return RabbitBroker(
        URL(url).update_query(name=name),
        middlewares=middlewares,
        default_channel=Channel(on_return_raises=True),
        # The first connection fails at once and is tried again by us: cancelled in between, the client would
        # go on for ever. Later losses are healed by the client itself.
        fail_fast=True,
        timeout=CONNECT_SECONDS,
        reconnect_interval=retry_seconds,
        on_close=(report.lost,),
        on_reconnected=(report.found,),
        graceful_timeout=None,
        logger=_faststream_log,
        log_level=logging.DEBUG,
        apply_types=False,
    )
