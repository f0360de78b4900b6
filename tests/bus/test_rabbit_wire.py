"""Headers as RabbitMQ 3.10 to 4.3 write them."""

from __future__ import annotations

from typing import Any

from proctor_chassis.bus.handling import Delivery
from proctor_chassis.bus.rabbit_wire import dead_headers, delivery_of, ladder_headers

QUEUE = "proctor.collector.results"


def read(
    headers: dict[str, Any], *, queue: str = QUEUE, key: str = "case.executed", again: bool = False
) -> Delivery:
    return delivery_of(
        queue=queue,
        routing_key=key,
        body=b"{}",
        message_id="id",
        correlation="run",
        headers=headers,
        redelivered=again,
    )


def test_a_first_delivery_is_number_one() -> None:
    delivery = read({})
    assert (delivery.queue, delivery.key, delivery.delivery, delivery.failures) == (
        QUEUE,
        "case.executed",
        1,
        0,
    )


def test_returns_of_the_broker_and_trips_up_the_ladder_add_up() -> None:
    assert read({"x-delivery-count": 3}, again=True).delivery == 4
    assert read({"x-delivery": 2}).delivery == 3
    assert read({"x-delivery": 2, "x-delivery-count": 1, "x-failures": 2}, again=True).delivery == 4
    assert read({"x-delivery": 2, "x-failures": 2}).failures == 2
    assert read({}, again=True).delivery == 2


def test_a_trip_up_the_ladder_keeps_the_key_and_forgets_the_brokers_own_headers() -> None:
    first = read(
        {
            "traceparent": "00-1",
            "x-delivery-count": 1,
            "x-acquired-count": 2,
            "x-death": [{"queue": "proctor.retry.5s", "reason": "expired"}],
            "x-first-death-queue": "a",
            "x-last-death-queue": "b",
        },
        again=True,
    )
    headers = ladder_headers(first, failures=1)
    assert headers == {"traceparent": "00-1", "x-key": "case.executed", "x-delivery": 2, "x-failures": 1}
    # Back from the ladder its routing key is the queue's name.
    second = read(headers, key=QUEUE)
    assert (second.key, second.delivery, second.failures) == ("case.executed", 3, 1)


def test_a_message_given_up_tells_its_story() -> None:
    headers = dead_headers(read({"x-delivery": 2, "x-failures": 2}), reason="retries_exhausted")
    letter = read(headers, queue="proctor.dead", key=QUEUE)
    assert (letter.queue, letter.key, letter.reason) == (QUEUE, "case.executed", "retries_exhausted")
    assert (letter.delivery, letter.failures) == (1, 0)


def test_a_letter_keeps_its_story_up_the_ladder() -> None:
    letter = read(dead_headers(read({}), reason="permanent:gone"), queue="proctor.dead", key=QUEUE)
    again = read(ladder_headers(letter, failures=0), queue="proctor.dead", key="proctor.dead")
    assert (again.queue, again.key, again.reason, again.delivery) == (
        QUEUE,
        "case.executed",
        "permanent:gone",
        2,
    )


def test_the_brokers_own_dead_letters_are_understood() -> None:
    death = {
        "queue": QUEUE,
        "reason": "delivery_limit",
        "exchange": "proctor.events",
        "routing-keys": ["case.judged"],
        "count": 1,
    }
    older = {"queue": "proctor.retry.5s", "reason": "expired", "routing-keys": [QUEUE], "count": 2}
    letter = read({"x-death": [death, older]}, queue="proctor.dead", key=QUEUE)
    assert (letter.queue, letter.reason, letter.key) == (QUEUE, "delivery_limit", "case.judged")
    rejected = read({"x-death": [death | {"reason": "rejected"}]}, queue="proctor.dead", key=QUEUE)
    assert rejected.reason == "rejected"
    laddered = read(
        {"x-death": [death | {"routing-keys": [QUEUE]}], "x-key": "case.executed"}, queue="proctor.dead"
    )
    assert laddered.key == "case.executed"


def test_a_letter_of_unknown_story_is_kept_all_the_same() -> None:
    letter = read({"x-death": "what?"}, queue="proctor.dead", key="some.queue")
    assert (letter.queue, letter.reason, letter.key) == ("some.queue", "rejected", "some.queue")
