"""What a bus does with work, whatever carries it; every adapter's test module runs all of this."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from uuid import UUID

import pytest
from pydantic import BaseModel

from proctor_chassis.bus import (
    BusError,
    BusUnavailable,
    DeadLetter,
    DeadSubscription,
    MessageTooLarge,
    Meta,
    Permanent,
    RetryLater,
    Subscription,
    Unroutable,
)
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.topology import COLLECTOR_RESULTS, DEAD_LETTERS, MAX_BODY_BYTES, runner_queue
from tests.bus.world import PATIENCE, Collected, World, collector, dead_collector, executed, number_of, taking


async def test_a_message_arrives_as_it_was_sent(world: World) -> None:
    bus, got = await world.bus(), Collected()

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        await got.add((message, meta))

    await bus.start([collector(handler)])
    sent = executed(7, logs=("Привіт — «ok»\n",), outcomes={"department": "billing", "n": 1.5})
    await bus.publish(sent)
    [(message, meta)] = await got.first(1)
    assert message == sent
    assert meta == Meta(id=sent.id(), correlation=str(sent.run_id), delivery=1)


async def test_raw_bytes_arrive_like_a_message(world: World) -> None:
    bus, got = await world.bus(), Collected()

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        await got.add((message, meta.id, meta.correlation))

    await bus.start([collector(handler)])
    sent = executed(8)
    await bus.publish_raw(
        exchange="proctor.events",
        key="case.executed",
        body=sent.model_dump_json().encode(),
        message_id="the-id",
        correlation="the-run",
    )
    assert await got.first(1) == [(sent, "the-id", "the-run")]


async def test_consumers_of_one_queue_share_its_messages(world: World) -> None:
    one, two = await world.bus(), await world.bus()
    by_one, by_two, got = [], [], Collected()

    async def first(message: CaseExecuted, _meta: Meta) -> None:
        by_one.append(number_of(message))
        await got.add(number_of(message))

    async def second(message: CaseExecuted, _meta: Meta) -> None:
        by_two.append(number_of(message))
        await got.add(number_of(message))

    await one.start([collector(first, concurrency=1)])
    await two.start([collector(second, concurrency=1)])
    await asyncio.gather(*(one.publish(executed(number)) for number in range(40)))
    assert sorted(await got.first(40)) == list(range(40))
    assert by_one
    assert by_two
    assert sorted(by_one + by_two) == list(range(40))


async def test_no_more_handlers_run_than_the_concurrency(world: World) -> None:
    bus, gate, started, done = await world.bus(), asyncio.Event(), Collected(), Collected()
    running = most = 0

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await started.add(number_of(message))
        await gate.wait()
        running -= 1
        await done.add(number_of(message))

    await bus.start([collector(handler, concurrency=3)])
    for number in range(9):
        await bus.publish(executed(number))
    await started.first(3)
    assert running == 3
    gate.set()
    assert sorted(await done.first(9)) == list(range(9))
    assert most == 3


async def test_a_failing_handler_is_tried_again_up_the_ladder_then_given_up(world: World) -> None:
    bus, tries, dead = await world.bus(), Collected(), Collected()

    async def handler(_message: CaseExecuted, meta: Meta) -> None:
        await tries.add(meta.delivery)
        raise ValueError("a bug")

    await bus.start([collector(handler), dead_collector(dead)])
    sent = executed(3)
    await bus.publish(sent)
    await world.rung()
    await world.rung()
    [letter] = await dead.first(1)
    assert tries.items == [1, 2, 3]
    assert letter.queue == COLLECTOR_RESULTS.name
    assert letter.reason == "retries_exhausted"
    assert letter.routing_key == "case.executed"
    assert letter.id == sent.id()
    assert letter.correlation == str(sent.run_id)
    assert CaseExecuted.model_validate_json(letter.body) == sent


async def test_a_flaky_handler_succeeds_in_the_end(world: World) -> None:
    bus, tries, done, dead = await world.bus(), Collected(), Collected(), Collected()

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        await tries.add(meta.delivery)
        if meta.delivery < 3:
            raise ValueError("not yet")
        await done.add(message)

    await bus.start([collector(handler), dead_collector(dead)])
    await bus.publish(executed(4))
    await world.rung()
    await world.rung()
    assert await done.first(1) == [executed(4)]
    assert tries.items == [1, 2, 3]
    assert dead.items == []


async def test_an_outage_never_counts_against_a_message(world: World) -> None:
    bus, tries, done, dead = await world.bus(), Collected(), Collected(), Collected()
    errors = [RetryLater(), ConnectionRefusedError(), BusUnavailable(), RetryLater(after=0.01), RetryLater()]

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        await tries.add(meta.delivery)
        if meta.delivery <= len(errors):
            raise errors[meta.delivery - 1]
        await done.add(message)

    await bus.start([collector(handler, max_failures=1), dead_collector(dead)])
    await bus.publish(executed(5))
    for _ in errors:
        await world.rung()
    await done.first(1)
    assert tries.items == [1, 2, 3, 4, 5, 6]
    assert dead.items == []


async def test_a_permanent_failure_is_given_up_at_once_with_its_code(world: World) -> None:
    bus, tries, dead = await world.bus(), Collected(), Collected()

    async def handler(_message: CaseExecuted, meta: Meta) -> None:
        await tries.add(meta.delivery)
        raise Permanent("no_such_run")

    await bus.start([collector(handler), dead_collector(dead)])
    await bus.publish(executed(6))
    [letter] = await dead.first(1)
    assert letter.reason == "permanent:no_such_run"
    assert tries.items == [1]


async def test_a_validation_error_of_a_handler_is_permanent(world: World) -> None:
    class Strict(BaseModel):
        number: int

    bus, dead = await world.bus(), Collected()

    async def handler(_message: CaseExecuted, _meta: Meta) -> None:
        Strict.model_validate({"number": "many"})

    await bus.start([collector(handler), dead_collector(dead)])
    await bus.publish(executed(6))
    [letter] = await dead.first(1)
    assert letter.reason == "permanent:validation_error"


async def test_a_handler_past_its_timeout_has_failed(world: World) -> None:
    bus, dead, cancelled = await world.bus(), Collected(), Collected()

    async def handler(_message: CaseExecuted, _meta: Meta) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await cancelled.add("yes")

    await bus.start([collector(handler, timeout_seconds=0.05, max_failures=1), dead_collector(dead)])
    await bus.publish(executed(6))
    [letter] = await dead.first(1)
    assert letter.reason == "retries_exhausted"
    assert cancelled.items == ["yes"]


async def test_a_cancellation_that_leaks_out_of_a_handler_is_a_failure(world: World) -> None:
    bus, dead = await world.bus(), Collected()

    async def handler(_message: CaseExecuted, _meta: Meta) -> None:
        inner = asyncio.create_task(asyncio.Event().wait())
        inner.cancel()
        await inner

    await bus.start([collector(handler, max_failures=1), dead_collector(dead)])
    await bus.publish(executed(6))
    [letter] = await dead.first(1)
    assert letter.reason == "retries_exhausted"


async def test_a_handler_that_fails_before_it_awaits_has_failed(world: World) -> None:
    bus, dead = await world.bus(), Collected()

    def handler(_message: CaseExecuted, _meta: Meta) -> Awaitable[None]:
        raise ValueError("no coroutine was made")

    await bus.start([collector(handler, max_failures=1), dead_collector(dead)])
    await bus.publish(executed(6))
    [letter] = await dead.first(1)
    assert letter.reason == "retries_exhausted"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "undecodable"),
        (b"{", "undecodable"),
        (b"[]", "undecodable"),
        (b'{"v": 1}', "undecodable"),
        (b'{"v": "1", "runId": "\xff\xfe"}', "undecodable"),
        (b'{"v": 99}', "unknown_version"),
        (json.dumps(json.loads(executed(1).model_dump_json()) | {"v": 2}).encode(), "unknown_version"),
    ],
)
async def test_what_cannot_be_read_is_given_up_while_its_neighbours_flow(
    world: World, body: bytes, reason: str
) -> None:
    bus, got, dead = await world.bus(), Collected(), Collected()
    await bus.start([collector(taking(got)), dead_collector(dead)])
    await bus.publish(executed(1))
    await bus.publish_raw(
        exchange="proctor.events", key="case.executed", body=body, message_id="bad", correlation="run"
    )
    await bus.publish(executed(2))
    assert sorted(await got.first(2)) == [1, 2]
    [letter] = await dead.first(1)
    assert (letter.id, letter.reason, letter.body) == ("bad", reason, body)
    assert len(got.items) == 2


async def test_a_poison_message_is_bounded_and_holds_nobody_up(world: World) -> None:
    bus, calls, got, dead = await world.bus(), Collected(), Collected(), Collected()

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        if number_of(message) == 0:
            await calls.add(0)
            raise RuntimeError("poison")
        await got.add(number_of(message))

    await bus.start([collector(handler, concurrency=1), dead_collector(dead)])
    for number in range(20):
        await bus.publish(executed(number))
    assert sorted(await got.first(19)) == list(range(1, 20))
    await world.rung()
    await world.rung()
    [letter] = await dead.first(1)
    assert letter.reason == "retries_exhausted"
    assert len(calls.items) == 3


async def test_messages_retried_together_do_not_take_each_others_place(world: World) -> None:
    bus, tries, done = await world.bus(), Collected(), Collected()

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        await tries.add((number_of(message), meta.id, meta.delivery))
        if meta.delivery == 1:
            raise ValueError("once each")
        await done.add(number_of(message))

    await bus.start([collector(handler, concurrency=5)])
    for number in range(10):
        await bus.publish(executed(number))
    await tries.first(10)
    await world.rung()
    assert sorted(await done.first(10)) == list(range(10))
    wanted = [(number, executed(number).id(), delivery) for number in range(10) for delivery in (1, 2)]
    assert sorted(tries.items) == sorted(wanted)


async def test_a_dead_letter_is_kept_until_its_handler_succeeds(world: World) -> None:
    bus, tries, dead = await world.bus(), Collected(), Collected()

    async def handler(_message: CaseExecuted, _meta: Meta) -> None:
        raise Permanent("lost")

    async def bury(letter: DeadLetter) -> None:
        await tries.add(letter.reason)
        if len(tries.items) < 6:
            raise ValueError("the database is away")
        await dead.add(letter)

    await bus.start([collector(handler), DeadSubscription(handler=bury)])
    sent = executed(1)
    await bus.publish(sent)
    for _ in range(5):
        await world.rung()
    [letter] = await dead.first(1)
    assert tries.items == ["permanent:lost"] * 6
    assert (letter.queue, letter.id, letter.routing_key) == (
        COLLECTOR_RESULTS.name,
        sent.id(),
        "case.executed",
    )
    assert letter.body == sent.model_dump_json().encode()


async def test_a_key_that_no_queue_receives_is_an_error_of_the_sender(world: World) -> None:
    bus = await world.bus()
    await bus.start()
    for exchange, key in (("proctor.jobs", "case.requested.nowhere"), ("proctor.nothing", "case.executed")):
        with pytest.raises(Unroutable):
            await bus.publish_raw(exchange=exchange, key=key, body=b"{}", message_id="1", correlation="1")


async def test_a_configured_pool_has_a_queue_before_it_has_a_runner(world: World) -> None:
    bus = await world.bus(pools=("gpu",))
    await bus.start()
    await bus.publish_raw(
        exchange="proctor.jobs", key="case.requested.gpu", body=b"{}", message_id="1", correlation="1"
    )
    depth = await bus.depth(runner_queue("gpu").name)
    assert depth is not None
    assert (depth.ready, depth.consumers) == (1, 0)


async def test_a_runner_brings_the_queue_of_a_pool_that_only_it_was_told_of(world: World) -> None:
    bus, got = await world.bus(), Collected()
    await bus.start(
        [
            Subscription(
                queue=runner_queue("attic"),
                models={"case.requested.attic": CaseExecuted},
                handler=taking(got),
                concurrency=1,
            )
        ]
    )
    await bus.publish_raw(
        exchange="proctor.jobs",
        key="case.requested.attic",
        body=executed(5).model_dump_json().encode(),
        message_id="1",
        correlation="1",
    )
    assert await got.first(1) == [5]


async def test_a_body_over_the_limit_is_refused_and_harms_nobody(world: World) -> None:
    bus, got = await world.bus(), Collected()
    await bus.start([collector(taking(got))])
    # The limit is bytes of UTF-8, and Ukrainian takes two for a letter.
    with pytest.raises(MessageTooLarge):
        await bus.publish(executed(1, logs=("ї" * (MAX_BODY_BYTES // 2),)))
    with pytest.raises(MessageTooLarge):
        await bus.publish_raw(
            exchange="proctor.events",
            key="case.executed",
            body=b" " * (20 * MAX_BODY_BYTES),
            message_id="1",
            correlation="1",
        )
    await bus.publish(executed(2, logs=("ї" * (MAX_BODY_BYTES // 2 - 1000),)))
    assert await got.first(1) == [2]


async def test_a_paused_bus_finishes_what_it_has_and_takes_no_more_jobs(world: World) -> None:
    bus, gate, started, done = await world.bus(), asyncio.Event(), Collected(), Collected()

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        await started.add(number_of(message))
        await gate.wait()
        await done.add(number_of(message))

    await bus.start([collector(handler, concurrency=1)])
    assert bus.consuming
    await bus.publish(executed(1))
    await started.first(1)
    await bus.pause()
    assert not bus.consuming
    gate.set()
    await done.first(1)
    await bus.stop(grace_seconds=PATIENCE)
    assert done.items == [1]


async def test_a_stop_waits_for_running_handlers_and_their_messages(world: World) -> None:
    bus, gate, started, done = await world.bus(), asyncio.Event(), Collected(), []

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        await started.add(number_of(message))
        await gate.wait()
        done.append(number_of(message))

    await bus.start([collector(handler, concurrency=4)])
    for number in range(4):
        await bus.publish(executed(number))
    await started.first(4)
    stopping = asyncio.create_task(bus.stop(grace_seconds=PATIENCE))
    gate.set()
    await stopping
    assert sorted(done) == [0, 1, 2, 3]
    assert not bus.connected


async def test_a_stop_past_its_grace_cancels_what_runs(world: World) -> None:
    bus, started, cancelled = await world.bus(), Collected(), asyncio.Event()

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        await started.add(number_of(message))
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    await bus.start([collector(handler)])
    await bus.publish(executed(1))
    await started.first(1)
    await bus.stop(grace_seconds=0.01)
    async with asyncio.timeout(PATIENCE):
        await cancelled.wait()


async def test_a_stopped_bus_refuses_to_send(world: World) -> None:
    bus = await world.bus()
    await bus.start()
    assert bus.connected
    await bus.stop(grace_seconds=1)
    assert not bus.connected
    with pytest.raises(BusUnavailable) as raised:
        await bus.publish(executed(1))
    assert isinstance(raised.value, BusError)
    assert raised.value.code == "bus_unavailable"


async def test_depth_counts_what_waits(world: World) -> None:
    bus = await world.bus()
    await bus.start()
    for number in range(3):
        await bus.publish(executed(number))
    depth = await bus.depth(COLLECTOR_RESULTS.name)
    assert depth is not None
    assert (depth.ready, depth.consumers) == (3, 0)
    assert await bus.depth("proctor.no.such.queue") is None
    empty = await bus.depth(DEAD_LETTERS.name)
    assert empty is not None
    assert empty.ready == 0


async def test_a_handler_may_send_what_another_handles(world: World) -> None:
    bus, got = await world.bus(), Collected()

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        await got.add(number_of(message))
        if number_of(message) < 10:
            await bus.publish(executed(number_of(message) + 1))

    await bus.start([collector(handler, concurrency=1)])
    await bus.publish(executed(1))
    assert await got.first(10) == list(range(1, 11))


async def test_the_run_is_the_correlation(world: World) -> None:
    bus, got = await world.bus(), Collected()

    async def handler(_message: CaseExecuted, meta: Meta) -> None:
        await got.add(meta.correlation)

    await bus.start([collector(handler)])
    await bus.publish(executed(1))
    assert await got.first(1) == [str(UUID(int=1))]
