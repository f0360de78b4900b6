"""The behaviour suite on RabbitMQ, and what only a broker apart can do."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from uuid import UUID

import aio_pika
import pytest

from proctor_chassis.bus import Bus, BusUnavailable, Listener, Meta
from proctor_chassis.bus.rabbit import RabbitBus
from proctor_chassis.joining import Joined
from proctor_chassis.metrics import prometheus_meters
from proctor_contracts.messages import CaseExecuted, LiveHint
from proctor_contracts.topology import COLLECTOR_RESULTS, DELIVERY_LIMIT, LIVE, Delay
from tests.bus.behaviour import *  # noqa: F403 - the suite is collected here
from tests.bus.hearing import *  # noqa: F403 - as above
from tests.bus.world import PATIENCE, Collected, collector, dead_collector, executed, number_of, taking
from tests.support.proxy import Line, line_to
from tests.support.servers import fresh_amqp, restart_broker
from tests.support.until import until
from tools.servers.model import Servers

pytestmark = pytest.mark.real

LADDER = (
    Delay("proctor.retry.50ms", 0.05),
    Delay("proctor.retry.60ms", 0.06),
    Delay("proctor.retry.70ms", 0.07),
)


class Broker:
    """A virtual host, and every bus that a test opened on it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opened: list[RabbitBus] = []

    async def bus(self, *, pools: tuple[str, ...] = ()) -> Bus:
        return self.open(self.url, pools=pools)

    def open(self, url: str, *, pools: tuple[str, ...] = (), publish_seconds: float = 10) -> RabbitBus:
        bus = RabbitBus(
            url,
            pools=pools,
            ladder=LADDER,
            publish_seconds=publish_seconds,
            connect_seconds=0.5,
            retry_seconds=0.1,
        )
        self._opened.append(bus)
        return bus

    async def rung(self) -> None:
        """The broker's own time does it."""

    async def close(self) -> None:
        await asyncio.gather(*(bus.stop(grace_seconds=0) for bus in self._opened))


@pytest.fixture
async def world(servers: Servers) -> AsyncIterator[Broker]:
    with fresh_amqp(servers) as url:
        broker = Broker(url)
        yield broker
        await broker.close()


@pytest.fixture
async def line(world: Broker) -> AsyncIterator[Line]:
    async with line_to(world.url) as line:
        yield line


async def test_a_message_outlives_the_worker_that_held_it(world: Broker) -> None:
    killed = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bus.holding_worker",
        world.url,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    bus, got = world.open(world.url), Collected()

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        await got.add((number_of(message), meta.delivery))

    await bus.start()
    await bus.publish(executed(1))
    assert killed.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await killed.stdout.readline() == b"holding 1\n"
    killed.kill()
    await killed.wait()
    await bus.start([collector(handler)])
    assert await got.first(1) == [(1, 2)]


async def test_a_process_starts_while_the_broker_is_away(world: Broker, line: Line) -> None:
    await line.down()
    bus, got = world.open(line.url), Collected()
    await bus.start([collector(taking(got))], [Listener(exchange=LIVE, models={}, handler=got.add)])
    assert not bus.connected
    assert not bus.consuming
    assert await bus.depth(COLLECTOR_RESULTS.name) is None
    await bus.announce(LiveHint(run_id=UUID(int=1), seq=1))
    with pytest.raises(BusUnavailable):
        await bus.publish(executed(1))
    await line.up()
    await until(lambda: bus.consuming)
    await bus.publish(executed(2))
    assert await got.first(1) == [2]


async def test_a_process_stops_while_the_broker_is_away(world: Broker, line: Line) -> None:
    bus, late = world.open(line.url), world.open(line.url)
    await bus.start([collector(taking(Collected()))])
    await line.down()
    await late.start([collector(taking(Collected()))])
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(bus.stop(grace_seconds=1), late.stop(grace_seconds=1))
    assert not bus.connected


async def test_a_lost_connection_does_not_play_a_conversation_twice(world: Broker, line: Line) -> None:
    bus, played, done, gate = world.open(line.url), Collected(), Collected(), asyncio.Event()
    joined: Joined[int] = Joined()

    async def converse(number: int) -> int:
        await played.add(number)
        await gate.wait()
        return number * 100

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        answer = await joined.run(meta.id, lambda: converse(number_of(message)))
        await done.add((number_of(message), answer, meta.delivery))

    await bus.start([collector(handler)])
    for number in range(4):
        await bus.publish(executed(number))
    await played.first(4)
    await line.down()
    await until(lambda: not bus.connected)
    with pytest.raises(BusUnavailable):
        await bus.publish(executed(9))
    await line.up()
    await until(lambda: bus.consuming)
    gate.set()
    assert sorted(await done.first(4)) == [(number, number * 100, 2) for number in range(4)]
    assert sorted(played.items) == [0, 1, 2, 3]


async def test_a_result_that_was_ready_before_the_connection_was_lost_is_not_made_again(
    world: Broker, line: Line
) -> None:
    bus, played, done = world.open(line.url), Collected(), Collected()
    joined: Joined[int] = Joined()
    held = asyncio.Event()

    async def converse() -> int:
        await played.add("once")
        return 7

    async def handler(_message: CaseExecuted, meta: Meta) -> None:
        answer = await joined.run(meta.id, converse)
        if meta.delivery == 1:
            held.set()
            await asyncio.Event().wait()
        await done.add((answer, meta.delivery))

    await bus.start([collector(handler)])
    await bus.publish(executed(1))
    async with asyncio.timeout(PATIENCE):
        await held.wait()
    await line.cut()
    assert await done.first(1) == [(7, 2)]
    assert played.items == ["once"]


async def test_a_broker_that_does_not_answer_is_away(world: Broker, line: Line) -> None:
    bus = world.open(line.url, publish_seconds=0.2)
    await bus.start()
    await bus.publish(executed(1))
    line.freeze()
    with pytest.raises(BusUnavailable):
        await bus.publish(executed(2))
    await line.cut()


async def test_a_failed_message_waits_for_the_broker_to_take_it_back(world: Broker) -> None:
    bus, tries, refusals = world.open(world.url), Collected(), [BusUnavailable(), BusUnavailable()]
    resend = bus._consumer._resend

    async def flaky(exchange: str, key: str, body: bytes, **rest: Any) -> None:
        if refusals:
            raise refusals.pop()
        await resend(exchange, key, body, **rest)

    async def handler(_message: CaseExecuted, meta: Meta) -> None:
        await tries.add(meta.delivery)
        if meta.delivery == 1:
            raise ValueError("once")

    bus._consumer._resend = flaky
    await bus.start([collector(handler)])
    await bus.publish(executed(1))
    assert await tries.first(2) == [1, 2]
    assert refusals == []


async def test_what_a_stopped_worker_held_goes_to_another(world: Broker) -> None:
    one, two, started, got = world.open(world.url), world.open(world.url), Collected(), Collected()

    async def stuck(message: CaseExecuted, _meta: Meta) -> None:
        await started.add(number_of(message))
        await asyncio.Event().wait()

    async def handler(message: CaseExecuted, meta: Meta) -> None:
        await got.add((number_of(message), meta.delivery))

    await one.start([collector(stuck, concurrency=2)])
    for number in range(4):
        await one.publish(executed(number))
    await started.first(2)
    await one.pause()
    await two.start([collector(handler)])
    assert sorted(await got.first(2)) == [(2, 1), (3, 1)]
    await one.stop(grace_seconds=0.01)
    assert sorted((await got.first(4))[2:]) == [(0, 2), (1, 2)]


async def test_a_job_that_kills_its_workers_ends_among_the_dead_letters(world: Broker) -> None:
    bus, dead = world.open(world.url), Collected()
    await bus.start([dead_collector(dead)])
    sent = executed(1)
    await bus.publish(sent)
    connection = await aio_pika.connect(world.url)
    async with connection, connection.channel() as channel:
        queue = await channel.get_queue(COLLECTOR_RESULTS.name)
        returned = 0
        while not dead.items and returned <= DELIVERY_LIMIT + 1:
            message = await queue.get(fail=False, timeout=PATIENCE)
            if message is not None:
                await message.reject(requeue=True)
                returned += 1
    [letter] = await dead.first(1)
    assert letter.reason == "delivery_limit"
    assert (letter.queue, letter.routing_key, letter.id) == (
        COLLECTOR_RESULTS.name,
        "case.executed",
        sent.id(),
    )
    assert letter.body == sent.model_dump_json().encode()
    assert returned == DELIVERY_LIMIT + 1


async def test_what_a_consumer_rejects_ends_among_the_dead_letters(world: Broker) -> None:
    bus, dead = world.open(world.url), Collected()
    await bus.start([dead_collector(dead)])
    await bus.publish(executed(1))
    connection = await aio_pika.connect(world.url)
    async with connection, connection.channel() as channel:
        queue = await channel.get_queue(COLLECTOR_RESULTS.name)
        message = await queue.get(timeout=PATIENCE)
        await message.reject()
    [letter] = await dead.first(1)
    assert (letter.reason, letter.queue, letter.routing_key) == (
        "rejected",
        COLLECTOR_RESULTS.name,
        "case.executed",
    )


async def test_consumers_come_back_after_every_cut(world: Broker, line: Line) -> None:
    bus, got = world.open(line.url), Collected()
    await bus.start([collector(taking(got))])
    for number in range(3):
        await line.cut()
        await until(lambda: not bus.connected)
        await until(lambda: bus.consuming)
        await bus.publish(executed(number))
        # An acknowledgement may be cut off too; then the message comes again.
        await until(partial(got.has, number))
    assert sorted(set(got.items)) == [0, 1, 2]


async def test_an_outage_is_reported_once_for_each_connection(
    world: Broker, line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="proctor_chassis")

    def reports() -> Counter[str]:
        return Counter(each.message for each in caplog.records if each.name.startswith("proctor_chassis"))

    bus, got = world.open(line.url), Collected()

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        await got.add(number_of(message))
        await asyncio.Event().wait()

    await bus.start([collector(handler)])
    for number in range(3):
        await bus.publish(executed(number))
    # What these handlers were doing is cut off as well, and goes on elsewhere: not worth a line each.
    await got.first(3)
    await line.down()
    await until(lambda: reports()["bus.connection_lost"] == 2)
    await line.up()
    await until(lambda: reports()["bus.connection_restored"] == 2)
    assert reports() == {"bus.connection_lost": 2, "bus.connection_restored": 2}


async def test_however_many_runs_are_watched_there_is_one_series_for_all_of_them(world: Broker) -> None:
    counted = prometheus_meters()
    assert counted is not None
    bus, heard = RabbitBus(world.url, registry=counted.registry), Collected()

    async def hear(hint: LiveHint) -> None:
        await heard.add(hint.run_id.int)

    await bus.start(listeners=[Listener(exchange=LIVE, models={"live.hint": LiveHint}, handler=hear)])
    for number in range(20):
        await bus.announce(LiveHint(run_id=UUID(int=number), seq=1))
    assert await heard.first(20) == list(range(20))
    await bus.stop(grace_seconds=1)
    handlers = {
        sample.labels[name]: sample.value
        for metric in counted.registry.collect()
        for sample in metric.samples
        for name in ("handler", "destination")
        if name in sample.labels
        and sample.name.endswith(("received_messages_total", "published_messages_total"))
    }
    assert handlers == {"proctor.live": 20}


async def test_faststream_counts_into_our_registry(world: Broker) -> None:
    counted = prometheus_meters()
    assert counted is not None
    bus = RabbitBus(world.url, meters=counted.meters, registry=counted.registry)
    got = Collected()
    await bus.start([collector(taking(got))])
    await bus.publish(executed(1))
    await got.first(1)
    await bus.stop(grace_seconds=PATIENCE)
    text = counted.expose().decode()
    assert 'proctor_messages_in_total{queue="proctor.collector.results"} 1.0' in text
    assert 'proctor_messages_out_total{key="case.executed"} 1.0' in text
    assert "faststream_received_messages_total" in text


async def test_work_survives_a_restart_of_the_broker(servers: Servers) -> None:
    with fresh_amqp(servers) as url:
        broker = Broker(url)
        bus, got = broker.open(url), Collected()
        await bus.start()
        for number in range(20):
            await bus.publish(executed(number))
        await asyncio.to_thread(restart_broker)
        await until(lambda: bus.connected, within=60)
        await bus.start([collector(taking(got))])
        assert sorted(await got.first(20)) == list(range(20))
        await broker.close()
