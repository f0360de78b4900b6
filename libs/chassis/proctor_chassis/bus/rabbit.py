"""The bus on RabbitMQ, with FastStream: one connection publishes and another consumes.

They are two because a broker that is short of memory blocks publishers, and acknowledgements on the same
connection would then stay unread. A message is acknowledged after what follows from it is confirmed: the
handler's own messages, its trip up the retry ladder, or its place among the dead letters.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import aio_pika
from aio_pika.exceptions import AMQPError, DeliveryError, PublishError

from proctor_chassis.metrics import Meters
from proctor_contracts.messages import Message, Transient
from proctor_contracts.topology import RETRY_LADDER, Delay, work_queues

from .errors import BusUnavailable, Unroutable
from .port import DeadSubscription, Depth, Listener, Subscription
from .rabbit_connection import CONNECT_SECONDS, broker_to, middlewares_for, stands
from .rabbit_consumer import RabbitConsumer
from .rabbit_topology import declare, exchanges_of
from .wire import check_size, encode, type_of

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["RabbitBus"]

_log = logging.getLogger(__name__)
_AWAY = (AMQPError, OSError, TimeoutError, RuntimeError)
"""What the client raises when the broker is not there; a channel in between states is a RuntimeError."""
PUBLISH_SECONDS = 10.0
ANNOUNCE_SECONDS = 1.0
RETRY_SECONDS = 1.0


class RabbitBus:
    """A `Bus` for processes apart; starts while the broker is away and finds it when it comes back."""

    def __init__(
        self,
        url: str,
        *,
        pools: tuple[str, ...] = (),
        meters: Meters | None = None,
        registry: CollectorRegistry | None = None,
        ladder: Sequence[Delay] = RETRY_LADDER,
        name: str = "proctor",
        connect_seconds: float = CONNECT_SECONDS,
        publish_seconds: float = PUBLISH_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._queues = work_queues(pools)
        self._ladder = tuple(ladder)
        self._exchanges = exchanges_of(self._ladder)
        self._meters = meters or Meters()
        middlewares = middlewares_for(registry)
        self._made = 0
        self._publisher, self._consuming_broker = (
            broker_to(url, f"{name} {use}", middlewares, retry_seconds, restored=self._restored)
            for use in ("publish", "consume")
        )
        self._consumer = RabbitConsumer(
            self._consuming_broker,
            ladder=self._ladder,
            meters=self._meters,
            resend=self._send,
            retry_seconds=retry_seconds,
        )
        self._connect_seconds = connect_seconds
        self._publish_seconds = publish_seconds
        self._retry_seconds = retry_seconds
        self._open = False
        self._opening: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether the topology is declared and the connections stand."""
        return (
            self._open
            and stands(self._publisher)
            and (not self._consumer.wanted or stands(self._consuming_broker))
        )

    @property
    def consuming(self) -> bool:
        """Whether every consumer is at its queue."""
        return self.connected and self._consumer.consuming

    @property
    def connections(self) -> int:
        """How many there have been: the first, and each one that was made good again."""
        return self._made

    @property
    def local(self) -> bool:
        """False: others are on it, and what they announce while we are away is missed."""
        return False

    async def publish(self, message: Message) -> None:
        """Send, and return when the broker has it on disk; raises a `BusError`."""
        out = encode(message)
        await self._send(
            out.exchange, out.key, out.body, message_id=out.id, correlation=out.correlation, headers={}
        )

    async def publish_raw(
        self, *, exchange: str, key: str, body: bytes, message_id: str, correlation: str
    ) -> None:
        """Send an encoded message, as `publish` does."""
        check_size(body, key=key)
        await self._send(exchange, key, body, message_id=message_id, correlation=correlation, headers={})

    async def announce(self, message: Transient) -> None:
        """Send without a promise; what goes wrong is only logged."""
        if not self.connected:
            return
        name = type_of(type(message))
        try:
            async with asyncio.timeout(ANNOUNCE_SECONDS):
                await self._publisher.publish(
                    aio_pika.Message(message.model_dump_json().encode(), type=name),
                    exchange=self._exchanges[message.exchange.name],
                    routing_key=message.key(),
                    mandatory=False,
                )
        except _AWAY as error:
            _log.debug("bus.announcement_lost", extra={"announced": name, "error": str(error)})
        else:
            self._meters.messages_out.add(key=name)

    async def start(
        self,
        subscriptions: Sequence[Subscription | DeadSubscription] = (),
        listeners: Sequence[Listener] = (),
    ) -> None:
        """Declare the topology and begin to consume; a broker that is away is awaited in the background."""
        for listener in listeners:
            self._consumer.listen(listener)
        for subscription in subscriptions:
            if subscription.queue not in self._queues:
                # A pool that only its own runner was told of.
                self._queues += (subscription.queue,)
            self._consumer.work(subscription)
        await self._stop_opening()
        self._opening = asyncio.create_task(self._connect())
        await asyncio.wait({self._opening}, timeout=self._connect_seconds)

    async def pause(self) -> None:
        """Take no more messages; those in hand are finished, and listeners still hear."""
        await self._consumer.pause()

    async def stop(self, *, grace_seconds: float) -> None:
        """Pause, let handlers finish, then close; what is cancelled then is delivered again elsewhere."""
        await self._stop_opening()
        await self._consumer.pause()
        await self._consumer.drain(seconds=grace_seconds)
        self._open = False
        for close in (self._consumer.close, self._publisher.stop):
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await close()
            except (*_AWAY, ExceptionGroup) as error:
                _log.warning("bus.close_failed", extra={"error": str(error)})

    async def depth(self, queue: str) -> Depth | None:
        """Ask the broker; it does not say over AMQP how many messages are unacknowledged."""
        connection = self._publisher._connection  # noqa: SLF001 - a missing queue closes the asking channel
        if connection is None or not self.connected:
            return None
        try:
            async with asyncio.timeout(self._publish_seconds), connection.channel() as channel:
                found = await channel.declare_queue(queue, passive=True, robust=False)
        except _AWAY:
            return None
        result = found.declaration_result
        return Depth(result.message_count or 0, None, result.consumer_count or 0)

    async def _connect(self) -> None:
        tries = 0
        while True:
            try:
                await self._publisher.connect()
                await declare(self._publisher, queues=self._queues, ladder=self._ladder)
                self._made += not self._open
                self._open = True
                if self._consumer.wanted:
                    await self._consumer.start()
            except _AWAY as error:
                # Once loudly, then quietly: a broker may be away for hours.
                level, tries = logging.DEBUG if tries else logging.WARNING, tries + 1
                _log.log(level, "bus.broker_away", extra={"error": f"{type(error).__name__}: {error}"})
                await asyncio.sleep(self._retry_seconds)
            else:
                _log.info("bus.connected")
                return

    def _restored(self) -> None:
        self._made += 1

    async def _stop_opening(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)

    async def _send(
        self,
        exchange: str,
        key: str,
        body: bytes,
        *,
        message_id: str,
        correlation: str,
        headers: Mapping[str, Any],
    ) -> None:
        known = self._exchanges.get(exchange)
        if known is None:
            # Sending to an exchange that is not there would close the channel for everybody.
            raise Unroutable(f"there is no exchange {exchange}")
        if not self._open or not stands(self._publisher):
            raise BusUnavailable("the broker is away")
        message = aio_pika.Message(
            body,
            content_type="application/json",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            message_id=message_id,
            correlation_id=correlation,
            headers=dict(headers),
        )
        try:
            # The client's own timeout does not fire while the broker blocks the connection.
            async with asyncio.timeout(self._publish_seconds):
                await self._publisher.publish(message, exchange=known, routing_key=key, persist=True)
        except PublishError as error:
            raise Unroutable(f"no queue receives {key} of {exchange}") from error
        except DeliveryError as error:
            raise BusUnavailable(f"the broker refused {key}: {error}") from error
        except _AWAY as error:
            raise BusUnavailable(f"{type(error).__name__}: {error}") from error
        self._meters.messages_out.add(key=key)
