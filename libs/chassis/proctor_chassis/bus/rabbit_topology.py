"""The topology as RabbitMQ objects: quorum queues with a dead-letter exchange, and the retry ladder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

from faststream.rabbit import ExchangeType, QueueType, RabbitBroker, RabbitExchange, RabbitQueue

from proctor_contracts.topology import (
    CONTROL,
    DEAD,
    DEAD_LETTERS,
    DELIVERY_LIMIT,
    EVENTS,
    JOBS,
    LIVE,
    Delay,
    Exchange,
    Queue,
)

from .port import Listener

__all__ = ["declare", "exchange_of", "exchanges_of", "listening_queue", "queue_of"]

NEVER = 1_000_000_000
"""A delivery limit for letters, which have nowhere further to go; newer brokers would drop them after 20."""
MAX_UNREAD = 10_000


def exchange_of(exchange: Exchange) -> RabbitExchange:
    """Describe one of ours; even those for transient messages are durable, only what they carry is not."""
    return RabbitExchange(exchange.name, type=ExchangeType(exchange.kind), durable=True)


def queue_of(queue: Queue) -> RabbitQueue:
    """Describe a work queue; its arguments can never change under the same name."""
    if queue.name == DEAD_LETTERS.name:
        return RabbitQueue(
            queue.name,
            queue_type=QueueType.QUORUM,
            arguments={"x-delivery-limit": NEVER, "x-overflow": "reject-publish"},
        )
    return RabbitQueue(
        queue.name,
        queue_type=QueueType.QUORUM,
        arguments={
            "x-delivery-limit": DELIVERY_LIMIT,
            "x-dead-letter-exchange": DEAD.name,
            "x-dead-letter-routing-key": queue.name,
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",
        },
    )


def listening_queue(listener: Listener) -> RabbitQueue:
    """Describe a queue of this process alone, which goes when the connection does."""
    return RabbitQueue(
        f"{listener.exchange.name}.{uuid4().hex}",
        durable=False,
        exclusive=True,
        auto_delete=True,
        routing_key=listener.key,
        arguments={"x-max-length": MAX_UNREAD},
    )


def exchanges_of(ladder: Sequence[Delay]) -> dict[str, RabbitExchange]:
    """Describe every exchange by name: ours, and one fanout for each rung of the ladder."""
    ours = {each.name: exchange_of(each) for each in (JOBS, EVENTS, DEAD, CONTROL, LIVE)}
    rungs = {
        delay.name: RabbitExchange(delay.name, type=ExchangeType.FANOUT, durable=True) for delay in ladder
    }
    return ours | rungs


async def declare(broker: RabbitBroker, *, queues: Iterable[Queue], ladder: Sequence[Delay]) -> None:
    """Declare everything and bind it; harmless when it is there."""
    exchanges = {name: await broker.declare_exchange(each) for name, each in exchanges_of(ladder).items()}
    for queue in queues:
        declared = await broker.declare_queue(queue_of(queue))
        for binding in queue.bindings:
            await declared.bind(exchanges[binding.exchange.name], routing_key=binding.key)
    for delay in ladder:
        rung = await broker.declare_queue(_rung_of(delay))
        await rung.bind(exchanges[delay.name], routing_key="")


def _rung_of(delay: Delay) -> RabbitQueue:
    return RabbitQueue(
        delay.name,
        queue_type=QueueType.QUORUM,
        arguments={
            "x-message-ttl": round(delay.seconds * 1000),
            "x-dead-letter-exchange": "",
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",
        },
    )
