"""A client of the broker beside Proctor: it sends what it likes and hears what is said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

__all__ = ["BrokerClient", "Heard"]

PATIENCE = 30.0
LOOK_EVERY = 0.05


@dataclass
class Heard:
    """What came to a queue of ours."""

    messages: list[AbstractIncomingMessage] = field(default_factory=list)
    grown: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def add(self, message: AbstractIncomingMessage) -> None:
        async with self.grown:
            self.messages.append(message)
            self.grown.notify_all()

    async def first(self, count: int) -> list[AbstractIncomingMessage]:
        """Wait for so many."""
        async with asyncio.timeout(PATIENCE), self.grown:
            await self.grown.wait_for(lambda: len(self.messages) >= count)
        return self.messages[:count]


@dataclass
class BrokerClient:
    """One channel of one connection."""

    channel: AbstractChannel

    @classmethod
    @asynccontextmanager
    async def on(cls, url: str) -> AsyncIterator[Self]:
        connection = await aio_pika.connect(url)
        async with connection:
            yield cls(await connection.channel())

    async def send(self, exchange: str, key: str, body: bytes, *, message_id: str | None) -> None:
        """Send a message; the exchange without a name puts it into the queue that the key names."""
        message = aio_pika.Message(body, message_id=message_id, correlation_id="test")
        target = await self.channel.get_exchange(exchange) if exchange else self.channel.default_exchange
        await target.publish(message, routing_key=key)

    async def hear(self, exchange: str, key: str) -> Heard:
        """Hear everything with this key from now on."""
        heard = Heard()
        queue = await self.channel.declare_queue(exclusive=True)
        await queue.bind(await self.channel.get_exchange(exchange), key)
        await queue.consume(heard.add, no_ack=True)
        return heard

    async def holds(self, queue: str, count: int) -> None:
        """Wait until a queue holds so many messages that nobody has taken."""
        never = asyncio.Event()
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.channel.declare_queue(queue, passive=True)
                if found.declaration_result.message_count == count:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(never.wait(), LOOK_EVERY)
