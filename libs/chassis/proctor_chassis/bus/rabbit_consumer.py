"""The consuming half of the RabbitMQ adapter: what is read, what becomes of it, and how reading stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, assert_never

from aio_pika import RobustChannel
from aio_pika.exceptions import AMQPError
from aiormq import Channel as AmqpChannel
from faststream import AckPolicy
from faststream.rabbit import Channel, RabbitBroker, RabbitMessage

from proctor_chassis.metrics import Meters
from proctor_contracts.topology import DEAD, Delay

from .errors import BusUnavailable
from .handling import Delivery, handle
from .hearing import Ear
from .port import DeadSubscription, Listener, Subscription
from .rabbit_topology import exchange_of, listening_queue, queue_of
from .rabbit_wire import dead_headers, delivery_of, ladder_headers
from .retry import Dead, Later

if TYPE_CHECKING:
    from aio_pika import RobustQueue
    from faststream.rabbit.subscriber.usecase import RabbitSubscriber

__all__ = ["RabbitConsumer", "Resend"]

_log = logging.getLogger(__name__)
CANCEL_SECONDS = 2.0


class Resend(Protocol):
    """Sends a message on, durably; raises a `BusError`."""

    async def __call__(
        self,
        exchange: str,
        key: str,
        body: bytes,
        *,
        message_id: str,
        correlation: str,
        headers: dict[str, Any],
    ) -> None:
        """Return when the broker has it."""
        ...


class RabbitConsumer:
    """Subscribers on one broker object, counted so that a stop can wait for them."""

    def __init__(
        self,
        broker: RabbitBroker,
        *,
        ladder: Sequence[Delay],
        meters: Meters,
        resend: Resend,
        retry_seconds: float,
    ) -> None:
        self._broker = broker
        self._ladder = ladder
        self._meters = meters
        self._resend = resend
        self._retry_seconds = retry_seconds
        self._workers: list[RabbitSubscriber] = []
        self._hearers: list[RabbitSubscriber] = []
        self._ears: list[Ear] = []
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._paused = False

    @property
    def wanted(self) -> bool:
        """Whether there is anything to consume."""
        return bool(self._workers or self._hearers)

    @property
    def consuming(self) -> bool:
        """Whether every worker is at its queue."""
        return not self._paused and all(
            worker.running and _at_its_queue(worker._queue_obj, worker._consumer_tag)  # noqa: SLF001 - no public way
            for worker in self._workers
        )

    @property
    def running(self) -> int:
        """How many handlers run."""
        return self._running

    def work(self, subscription: Subscription | DeadSubscription) -> None:
        """Add a consumer of a work queue; its prefetch is its concurrency, since every delivery is a task."""

        async def on_message(message: RabbitMessage) -> None:
            self._running += 1
            self._idle.clear()
            try:
                await self._settle(subscription, message)
            finally:
                self._running -= 1
                if not self._running:
                    self._idle.set()

        subscriber = self._broker.subscriber(
            queue_of(subscription.queue),
            channel=Channel(prefetch_count=subscription.concurrency),
            ack_policy=AckPolicy.REJECT_ON_ERROR,
            decoder=_undecoded,
            no_reply=True,
        )
        subscriber(on_message)
        self._workers.append(subscriber)

    def listen(self, listener: Listener) -> None:
        """Add an exclusive queue that goes with this process."""
        ear = Ear(listener)

        async def on_message(message: RabbitMessage) -> None:
            ear.hear(message.raw_message.type or "", message.body)

        subscriber = self._broker.subscriber(
            listening_queue(listener),
            exchange_of(listener.exchange),
            channel=Channel(),
            ack_policy=AckPolicy.ACK_FIRST,
            decoder=_undecoded,
            no_reply=True,
        )
        subscriber(on_message)
        self._ears.append(ear)
        self._hearers.append(subscriber)

    async def start(self) -> None:
        """Connect and begin; may be called again after a failure or for what was added."""
        await self._broker.connect()
        for subscriber in (*self._hearers, *self._workers):
            if not subscriber.running:
                await subscriber.start()

    async def pause(self) -> None:
        """Take no more messages; listeners still hear."""
        self._paused = True
        # FastStream 0.7.8 drains before it cancels its consumers, and what arrives meanwhile is swallowed
        # until the process ends. So they are cancelled here, first; there is no public way to do it.
        for worker in self._workers:
            queue, tag = worker._queue_obj, worker._consumer_tag  # noqa: SLF001 - as above
            if queue is None or tag is None:
                continue
            worker._consumer_tag = None  # noqa: SLF001 - as above
            try:
                # Without a connection there is nobody to ask, but the client must still forget the consumer.
                async with asyncio.timeout(CANCEL_SECONDS if _at_its_queue(queue, tag) else 0):
                    await queue.cancel(tag)
            except (AMQPError, OSError, RuntimeError) as error:
                _log.debug("bus.consumer_not_cancelled", extra={"error": str(error)})

    async def drain(self, *, seconds: float) -> None:
        """Wait for running handlers, not longer than this."""
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("bus.stopped_before_done", extra={"handlers": self._running})

    async def close(self) -> None:
        """Let go of the broker; what still runs is cancelled and delivered again elsewhere."""
        for ear in self._ears:
            ear.close()
        await self._broker.stop()

    async def _settle(self, subscription: Subscription | DeadSubscription, message: RabbitMessage) -> None:
        raw = message.raw_message
        queue = subscription.queue.name
        delivery = delivery_of(
            queue=queue,
            routing_key=raw.routing_key or "",
            body=message.body,
            message_id=message.message_id,
            correlation=message.correlation_id,
            headers=raw.headers,
            redelivered=bool(raw.redelivered),
        )
        outcome = await handle(subscription, delivery, ladder=self._ladder, meters=self._meters)
        match outcome:
            case None:
                pass
            case Later(delay=delay, failures=failures):
                # A rung returns what it holds to the queue that its routing key names.
                await self._send_on(delay.name, queue, delivery, ladder_headers(delivery, failures=failures))
            case Dead(reason=reason):
                await self._send_on(DEAD.name, queue, delivery, dead_headers(delivery, reason=reason))
            case _:
                assert_never(outcome)

    async def _send_on(self, exchange: str, key: str, delivery: Delivery, headers: dict[str, Any]) -> None:
        while True:
            try:
                await self._resend(
                    exchange,
                    key,
                    delivery.body,
                    message_id=delivery.id,
                    correlation=delivery.correlation,
                    headers=headers,
                )
            except BusUnavailable:
                # It stays the broker's; if the connection is gone, this task is cancelled with it.
                await asyncio.sleep(self._retry_seconds)
            else:
                return


async def _undecoded(message: Any) -> Any:
    """Hand over the message itself: its body is read once, by the model of its key."""
    return message


def _at_its_queue(queue: RobustQueue | None, tag: str | None) -> bool:
    """Whether the broker would deliver to this consumer now; the client keeps the tag while it is away."""
    if queue is None or tag is None or not isinstance(queue.channel, RobustChannel):
        return False
    underlay = queue.channel._channel  # noqa: SLF001 - asking for it the public way waits for a connection
    channel = underlay.channel if underlay is not None else None
    return isinstance(channel, AmqpChannel) and not channel.is_closed and tag in channel.consumers
