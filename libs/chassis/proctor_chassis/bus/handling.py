"""One delivery to one handler, and what must happen to the message then; every adapter does it this way."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from proctor_chassis.metrics import Meters
from proctor_contracts.topology import Delay

from .port import DeadLetter, DeadSubscription, Meta, Subscription
from .retry import Dead, Later, RetryPolicy
from .wire import decode

__all__ = ["Delivery", "handle"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message in the hands of a consumer.

    `queue` is where it was read, or, for a dead letter, where it was given up. `failures` are those that
    count against it.
    """

    queue: str
    key: str
    body: bytes
    id: str
    correlation: str
    delivery: int = 1
    failures: int = 0
    reason: str = ""
    headers: Mapping[str, Any] = field(default_factory=dict)


async def handle(
    subscription: Subscription | DeadSubscription,
    delivery: Delivery,
    *,
    ladder: Sequence[Delay],
    meters: Meters,
) -> Later | Dead | None:
    """Call the handler; None when the message is done. Cancellation passes through and decides nothing."""
    queue = subscription.queue.name
    meters.messages_in.add(queue=queue)
    meters.in_flight.add(1, queue=queue)
    began = time.perf_counter()
    try:
        outcome = await _outcome(subscription, delivery, ladder=ladder)
    finally:
        meters.in_flight.add(-1, queue=queue)
        meters.handling_seconds.observe(time.perf_counter() - began, queue=queue)
    match outcome:
        case None:
            pass
        case Later():
            meters.retried.add(queue=queue)
        case Dead(reason=reason):
            meters.dead.add(queue=queue, reason=reason)
        case _:
            assert_never(outcome)
    return outcome


async def _outcome(
    subscription: Subscription | DeadSubscription, delivery: Delivery, *, ladder: Sequence[Delay]
) -> Later | Dead | None:
    match subscription:
        case Subscription(retry=policy, handler=handler):
            message = decode(subscription.models, delivery.key, delivery.body)
            if isinstance(message, Dead):
                _log.error(
                    "bus.message_refused",
                    extra=_fields(delivery, reason=message.reason, detail=message.detail),
                )
                return message
            meta = Meta(delivery.id, delivery.correlation, delivery.delivery)
            call = partial(handler, message, meta)
        case DeadSubscription(handler=bury):
            policy = RetryPolicy()
            call = partial(bury, _letter(delivery))
        case _:
            assert_never(subscription)
    try:
        async with asyncio.timeout(subscription.timeout_seconds):
            await call()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Something inside was cancelled and not we: without a decision the message would be held for ever.
        failure: BaseException = error
    except Exception as error:  # noqa: BLE001 - the policy decides about every failure of a handler
        failure = error
    else:
        return None
    decision = policy.next(failure, delivery=delivery.delivery, failures=delivery.failures, ladder=ladder)
    if isinstance(decision, Dead) and isinstance(subscription, DeadSubscription):
        # There is nowhere further down: a letter is kept, and tried again slowly.
        decision = Later(ladder[-1], delivery.failures)
    _report(decision, delivery, failure)
    return decision


def _letter(delivery: Delivery) -> DeadLetter:
    return DeadLetter(
        queue=delivery.queue,
        reason=delivery.reason,
        body=delivery.body,
        headers=delivery.headers,
        id=delivery.id,
        correlation=delivery.correlation,
        routing_key=delivery.key,
    )


def _report(decision: Later | Dead, delivery: Delivery, error: BaseException) -> None:
    match decision:
        case Later(delay=delay):
            _log.warning(
                "bus.message_delayed",
                extra=_fields(delivery, error=f"{type(error).__name__}: {error}", seconds=delay.seconds),
            )
        case Dead(reason=reason):
            _log.error("bus.message_given_up", exc_info=error, extra=_fields(delivery, reason=reason))
        case _:
            assert_never(decision)


def _fields(delivery: Delivery, **more: object) -> dict[str, object]:
    return {"queue": delivery.queue, "message_id": delivery.id, "delivery": delivery.delivery, **more}
