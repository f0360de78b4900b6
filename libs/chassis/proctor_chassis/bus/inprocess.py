"""The bus inside one process: the same bytes, retries and dead letters, with queues that are lists.

What is on it is lost with the process; the database knows what is outstanding and sends it again at start.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

from proctor_chassis.clock import Clock, SystemClock, Timer
from proctor_chassis.metrics import Meters
from proctor_contracts.messages import Message, Transient
from proctor_contracts.topology import DEAD_LETTERS, JOBS, RETRY_LADDER, Delay, Queue, work_queues

from .errors import BusUnavailable, Unroutable
from .handling import Delivery, handle
from .hearing import Ear
from .port import DeadSubscription, Depth, Listener, Subscription
from .retry import Dead, Later
from .routing import Routes, matches
from .wire import DELIVERIES, FAILURES, KEY, QUEUE, REASON, check_size, encode, type_of

__all__ = ["InProcessBus"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Consumer:
    subscription: Subscription | DeadSubscription
    context: contextvars.Context
    running: int = 0

    @property
    def free(self) -> bool:
        return self.running < self.subscription.concurrency


@dataclass(slots=True)
class _Lane:
    queue: Queue
    commands: bool
    ready: deque[Delivery] = field(default_factory=deque)
    consumers: list[_Consumer] = field(default_factory=list)


class InProcessBus:
    """A `Bus` for the embedded mode and for tests; several services may start on one."""

    def __init__(
        self,
        *,
        pools: tuple[str, ...] = (),
        clock: Clock | None = None,
        meters: Meters | None = None,
        ladder: Sequence[Delay] = RETRY_LADDER,
    ) -> None:
        self._lanes: dict[str, _Lane] = {}
        self._routes = Routes(())
        self._declare(*work_queues(pools))
        self._ears: list[Ear] = []
        self._clock = clock or SystemClock()
        self._meters = meters or Meters()
        self._ladder = tuple(ladder)
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: dict[int, Timer] = {}
        self._timer_count = 0
        self._paused = False
        self._open = True

    @property
    def connected(self) -> bool:
        """True until it is stopped."""
        return self._open

    @property
    def consuming(self) -> bool:
        """True until it is paused."""
        return self._open and not self._paused

    @property
    def connections(self) -> int:
        """One: it cannot be lost."""
        return 1

    @property
    def local(self) -> bool:
        """True: a message cannot be missed here."""
        return True

    async def publish(self, message: Message) -> None:
        """Queue a message; raises `Unroutable`, `MessageTooLarge`, or `BusUnavailable` after the stop."""
        out = encode(message)
        self._send(out.exchange, Delivery("", out.key, out.body, out.id, out.correlation))

    async def publish_raw(
        self, *, exchange: str, key: str, body: bytes, message_id: str, correlation: str
    ) -> None:
        """Queue an encoded message; raises as `publish` does."""
        check_size(body, key=key)
        self._send(exchange, Delivery("", key, body, message_id, correlation))

    async def announce(self, message: Transient) -> None:
        """Give every listener its own copy."""
        if not self._open:
            return
        name, key = type_of(type(message)), message.key()
        ears = [
            ear
            for ear in self._ears
            if ear.listener.exchange == message.exchange and matches(ear.listener.key, key)
        ]
        if not ears:
            return
        body = message.model_dump_json().encode()
        for ear in ears:
            ear.hear(name, body)

    async def start(
        self,
        subscriptions: Sequence[Subscription | DeadSubscription] = (),
        listeners: Sequence[Listener] = (),
    ) -> None:
        """Begin to consume; consumers of one queue share its messages."""
        self._ears += [Ear(listener) for listener in listeners]
        for subscription in subscriptions:
            if subscription.queue.name not in self._lanes:
                # A pool that only its own runner was told of.
                self._declare(subscription.queue)
            lane = self._lanes[subscription.queue.name]
            lane.consumers.append(_Consumer(subscription, contextvars.copy_context()))
            self._pump(lane)

    async def pause(self) -> None:
        """Take no new commands; facts still flow, since they have nowhere else to wait."""
        self._paused = True

    async def stop(self, *, grace_seconds: float) -> None:
        """Finish what runs and record what it says, up to the grace; the rest is cancelled."""
        self._paused = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        try:
            async with asyncio.timeout(grace_seconds):
                while self._tasks:
                    await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            _log.warning("bus.stopped_before_done", extra={"handlers": len(self._tasks)})
        self._open = False
        for ear in self._ears:
            ear.close()
        rest = list(self._tasks)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def depth(self, queue: str) -> Depth | None:
        """Count what waits and what runs."""
        lane = self._lanes.get(queue)
        if lane is None:
            return None
        return Depth(
            len(lane.ready), sum(consumer.running for consumer in lane.consumers), len(lane.consumers)
        )

    def _declare(self, *queues: Queue) -> None:
        for queue in queues:
            self._lanes[queue.name] = _Lane(
                queue, commands=any(bound.exchange == JOBS for bound in queue.bindings)
            )
        self._routes = Routes(lane.queue for lane in self._lanes.values())

    def _send(self, exchange: str, delivery: Delivery) -> None:
        if not self._open:
            raise BusUnavailable("the bus has been stopped")
        names = self._routes.to(exchange, delivery.key)
        if not names:
            raise Unroutable(f"no queue receives {delivery.key} of {exchange}")
        self._meters.messages_out.add(key=delivery.key)
        for name in names:
            self._put(self._lanes[name], replace(delivery, queue=name))

    def _put(self, lane: _Lane, delivery: Delivery) -> None:
        lane.ready.append(delivery)
        self._pump(lane)

    def _pump(self, lane: _Lane) -> None:
        while lane.ready and self._open and not (self._paused and lane.commands):
            consumer = min(lane.consumers, key=lambda each: each.running, default=None)
            if consumer is None or not consumer.free:
                return
            consumer.running += 1
            # The context of the consumer's start, not of whoever published: log fields must not leak across.
            self._spawn(self._deliver(lane, consumer, lane.ready.popleft()), context=consumer.context.copy())

    async def _deliver(self, lane: _Lane, consumer: _Consumer, delivery: Delivery) -> None:
        try:
            outcome = await handle(consumer.subscription, delivery, ladder=self._ladder, meters=self._meters)
            match outcome:
                case None:
                    pass
                case Later(delay=delay, failures=failures):
                    again = replace(delivery, delivery=delivery.delivery + 1, failures=failures)
                    self._later(delay, partial(self._put, lane, again))
                case Dead(reason=reason):
                    self._put(self._lanes[DEAD_LETTERS.name], _dead(delivery, reason))
                case _:
                    assert_never(outcome)
        finally:
            consumer.running -= 1
            self._pump(lane)

    def _later(self, delay: Delay, call: partial[None]) -> None:
        self._timer_count += 1
        number = self._timer_count

        def run() -> None:
            del self._timers[number]
            call()

        self._timers[number] = self._clock.call_later(delay.seconds, run)

    def _spawn(
        self, work: Coroutine[object, object, None], context: contextvars.Context | None = None
    ) -> None:
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _dead(delivery: Delivery, reason: str) -> Delivery:
    headers = {
        KEY: delivery.key,
        QUEUE: delivery.queue,
        REASON: reason,
        FAILURES: delivery.failures,
        DELIVERIES: delivery.delivery,
    }
    return replace(delivery, delivery=1, failures=0, reason=reason, headers=headers)
