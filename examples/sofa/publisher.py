"""Pushes a conversation to Proctor over RabbitMQ, as a service that runs a bot would do it.

    python examples/sofa/publisher.py capture.json --integration <id> --amqp amqp://sofa:secret@localhost/

Sending again is harmless: Proctor keeps one row for each `externalId` of an integration. So this waits for
the broker's confirmation and sends again until it has one, for as long as `--patience` allows. It does not
need Proctor to be up: the queue holds what comes meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import aio_pika
from aio_pika.exceptions import AMQPError, DeliveryError, PublishError

EXCHANGE = "proctor.events"
ROUTING_KEY = "capture.recorded"
MOST_BYTES = 1024 * 1024
PAUSE_SECONDS = 1.0


class NotTaken(Exception):
    """The event will not be taken, however often it is sent."""


def event_of(conversation: dict[str, Any], integration: str) -> bytes:
    """Write the event.

    Raises:
        NotTaken: without an externalId, or beyond 1 MiB: Proctor would give it up.
    """
    body = json.dumps({"v": 1, "integrationId": integration, **conversation}, ensure_ascii=False).encode()
    if not conversation.get("externalId"):
        raise NotTaken("externalId is missing: it is what makes sending again harmless")
    if len(body) > MOST_BYTES:
        raise NotTaken(f"the event is {len(body):,} bytes; at most {MOST_BYTES:,} are read")
    return body


async def publish(amqp_url: str, bodies: list[tuple[str, bytes]], *, patience: float) -> None:
    """Send events (their ids and bytes) until the broker has confirmed each.

    Raises:
        NotTaken: when nothing receives captures there: Proctor was never started on this broker.
        TimeoutError: when the broker stays away.
    """
    waiting = list(bodies)
    async with asyncio.timeout(patience):
        while waiting:
            try:
                await _send(amqp_url, waiting)
            except PublishError as error:
                raise NotTaken(f"no queue receives {ROUTING_KEY} on {EXCHANGE}") from error
            except (AMQPError, DeliveryError, OSError, RuntimeError) as error:
                print(f"not sent yet: {type(error).__name__}: {error}", file=sys.stderr)
                await asyncio.sleep(PAUSE_SECONDS)


async def _send(amqp_url: str, waiting: list[tuple[str, bytes]]) -> None:
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        # The exchange is Proctor's: it is not declared here, which would take more rights than writing.
        exchange = await channel.get_exchange(EXCHANGE, ensure=False)
        while waiting:
            identity, body = waiting[0]
            message = aio_pika.Message(
                body,
                content_type="application/json",
                delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                message_id=identity,
            )
            await exchange.publish(message, routing_key=ROUTING_KEY, mandatory=True)
            print(f"confirmed {identity}", flush=True)
            waiting.pop(0)


def main() -> int:
    """Read the arguments and send."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("conversation", type=Path, help="a JSON file; see capture.json beside this file")
    parser.add_argument("--integration", required=True, help="the id of the integration in Proctor")
    parser.add_argument("--amqp", required=True, help="amqp://user:password@host:5672/vhost")
    parser.add_argument("--times", type=int, default=1, help="how often to send it (to see that it is safe)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for the broker")
    given = parser.parse_args()
    try:
        conversation = json.loads(given.conversation.read_text(encoding="utf-8"))
        body = event_of(conversation, given.integration)
        identity = f"{given.integration}:{conversation['externalId']}"
        asyncio.run(publish(given.amqp, [(identity, body)] * given.times, patience=given.patience))
    except TimeoutError:
        print("not sent: the broker stayed away", file=sys.stderr)
        return 1
    except (NotTaken, OSError, ValueError) as error:
        print(f"not sent: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
