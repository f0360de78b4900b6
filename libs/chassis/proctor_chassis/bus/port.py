"""The bus as every service sees it: subscriptions, listeners, and one way to send.

A handler is an async function of a message and its `Meta`. When it returns, the message is done. When it
raises, the retry policy decides: again after a rung of the ladder, or to the dead letters. A message may be
delivered more than once, so handlers are idempotent by the message's id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from proctor_contracts.messages import Message, Transient
from proctor_contracts.topology import DEAD_LETTERS, Exchange, Queue

from .errors import BusError, BusUnavailable, MessageTooLarge, Permanent, RetryLater, Unroutable
from .retry import RetryPolicy

__all__ = [
    "Bus",
    "BusError",
    "BusUnavailable",
    "DeadLetter",
    "DeadSubscription",
    "Depth",
    "Handler",
    "Listener",
    "MessageTooLarge",
    "Meta",
    "Permanent",
    "RetryLater",
    "RetryPolicy",
    "Subscription",
    "Unroutable",
]


@dataclass(frozen=True, slots=True)
class Meta:
    """What the bus knows of one delivery; `delivery` is 1 at first and grows with every later one."""

    id: str
    correlation: str
    delivery: int


Handler = Callable[[Any, Meta], Awaitable[None]]
"""Takes one of the subscription's models and its `Meta`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """One consumer of a work queue; `models` maps the keys of the queue's bindings to what they carry.

    At most `concurrency` handlers run at once. `timeout_seconds` bounds one call; reaching it is a counted
    failure.
    """

    queue: Queue
    models: Mapping[str, type[Message]]
    handler: Handler
    concurrency: int
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A message that was given up, as it was: the queue it came from, why, and its bytes.

    `reason` is one of undecodable, unknown_version, message_too_large, delivery_limit, retries_exhausted,
    permanent:<code>, rejected.
    """

    queue: str
    reason: str
    body: bytes
    headers: Mapping[str, Any]
    id: str
    correlation: str
    routing_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadSubscription:
    """The consumer of the dead letters; one whose handler fails is kept and tried again until it succeeds."""

    handler: Callable[[DeadLetter], Awaitable[None]]
    concurrency: int = 16
    timeout_seconds: float | None = None

    @property
    def queue(self) -> Queue:
        """Where dead letters wait."""
        return DEAD_LETTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A copy of the transient messages of an exchange for this process alone; `key` is a topic pattern.

    `models` maps the `type` of a message to its class; other types are skipped. Handlers are called in order.
    """

    exchange: Exchange
    models: Mapping[str, type[Transient]]
    handler: Callable[[Any], Awaitable[None] | None]
    key: str = "#"


@dataclass(frozen=True, slots=True)
class Depth:
    """How full a queue is; `unacked` is None where the adapter cannot see it."""

    ready: int
    unacked: int | None
    consumers: int


class Bus(Protocol):
    """Carries work, facts and transient messages between services."""

    @property
    def connected(self) -> bool:
        """Whether messages can be sent and received now."""
        ...

    @property
    def consuming(self) -> bool:
        """Whether every consumer is at its queue: connected and not paused."""
        ...

    @property
    def connections(self) -> int:
        """How many connections there have been; what was announced before the newest may have been missed."""
        ...

    @property
    def local(self) -> bool:
        """Whether nobody outside this process is on this bus, so that nothing is ever missed."""
        ...

    async def publish(self, message: Message) -> None:
        """Send durably and return when the bus has it; raises a `BusError`."""
        ...

    async def publish_raw(
        self, *, exchange: str, key: str, body: bytes, message_id: str, correlation: str
    ) -> None:
        """Send an encoded message durably and return when the bus has it; raises a `BusError`."""
        ...

    async def announce(self, message: Transient) -> None:
        """Send to whoever listens now; lossy, and silent when the broker is away."""
        ...

    async def start(
        self,
        subscriptions: Sequence[Subscription | DeadSubscription] = (),
        listeners: Sequence[Listener] = (),
    ) -> None:
        """Declare the topology and begin to consume; may be called again to add consumers."""
        ...

    async def pause(self) -> None:
        """Take no new work; running handlers go on."""
        ...

    async def stop(self, *, grace_seconds: float) -> None:
        """Pause, wait up to the grace for running handlers, cancel the rest and let go of the broker."""
        ...

    async def depth(self, queue: str) -> Depth | None:
        """Look at a queue; None when it does not exist or the broker is away."""
        ...
