"""Between a delivery and the broker's headers: pure, so that no broker is needed to test it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor_contracts.topology import DEAD_LETTERS

from .handling import Delivery
from .wire import DELIVERIES, FAILURES, KEY, QUEUE, REASON, counted

__all__ = ["dead_headers", "delivery_of", "ladder_headers"]

_OF_THE_BROKER = ("x-death", "x-first-death-", "x-last-death-", "x-delivery-count", "x-acquired-count")


def delivery_of(
    *,
    queue: str,
    routing_key: str,
    body: bytes,
    message_id: str,
    correlation: str,
    headers: Mapping[str, Any],
    redelivered: bool,
) -> Delivery:
    """Read one delivery; the broker's own count of returns and ours of ladder trips add up."""
    returns = max(counted(headers, "x-delivery-count"), int(redelivered))
    delivery = counted(headers, DELIVERIES) + returns + 1
    failures = counted(headers, FAILURES)
    if queue != DEAD_LETTERS.name:
        key = str(headers.get(KEY) or routing_key)
        return Delivery(queue, key, body, message_id, correlation, delivery, failures, "", headers)
    # Dead by our own hand, it carries its story; dead by the broker's, the story is in x-death.
    source = str(headers.get(QUEUE) or routing_key)
    reason, sent_as = _death(headers, source)
    return Delivery(
        source,
        str(headers.get(KEY) or sent_as or routing_key),
        body,
        message_id,
        correlation,
        delivery,
        failures,
        str(headers.get(REASON) or reason),
        headers,
    )


def ladder_headers(delivery: Delivery, *, failures: int) -> dict[str, Any]:
    """Write what must survive a trip up the ladder."""
    story = {QUEUE: delivery.queue, REASON: delivery.reason} if delivery.reason else {}
    return {
        **_kept(delivery.headers),
        **story,
        KEY: delivery.key,
        DELIVERIES: delivery.delivery,
        FAILURES: failures,
    }


def dead_headers(delivery: Delivery, *, reason: str) -> dict[str, Any]:
    """Write the story of a message that is given up; its own counting begins anew."""
    return {
        **_kept(delivery.headers),
        KEY: delivery.key,
        QUEUE: delivery.queue,
        REASON: reason,
        DELIVERIES: 0,
        FAILURES: 0,
    }


def _kept(headers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in headers.items() if not name.startswith(_OF_THE_BROKER)}


def _death(headers: Mapping[str, Any], queue: str) -> tuple[str, str]:
    """Find why and with what key a message died in this queue: (reason, key or nothing)."""
    deaths = headers.get("x-death")
    for death in deaths if isinstance(deaths, list) else ():
        if isinstance(death, dict) and death.get("queue") == queue:
            keys = death.get("routing-keys")
            key = str(keys[0]) if isinstance(keys, list) and keys else ""
            return ("delivery_limit" if death.get("reason") == "delivery_limit" else "rejected"), key
    return "rejected", ""
