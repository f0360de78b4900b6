from __future__ import annotations

import asyncio
from uuid import UUID

from typing_extensions import override

from proctor_chassis.bus import Listener
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.heartbeat import Heartbeat
from proctor_contracts.messages import RunCancelled, WorkerHeartbeat
from proctor_contracts.topology import CONTROL
from tests.bus.world import Collected
from tests.support.manual_clock import ManualClock


class SharedBus(InProcessBus):
    """A bus that others are on too, with a broker that can go away."""

    broker_is_there = True
    made = 1

    @property
    @override
    def local(self) -> bool:
        return False

    @property
    @override
    def connected(self) -> bool:
        return self.broker_is_there

    @property
    @override
    def connections(self) -> int:
        return self.made


class Worker:
    def __init__(self, bus: InProcessBus) -> None:
        self.clock = ManualClock()
        self.bus = bus
        self.cancelled: list[UUID] = []
        self.jobs = ["run:case:1:1"]
        self.heard = Collected()
        self.heartbeat = Heartbeat(
            bus=bus,
            worker_id="w1",
            service="runner",
            pool="high",
            concurrency=8,
            in_flight=lambda: self.jobs,
            on_cancelled=self.cancelled.extend,
            clock=self.clock,
        )

    async def seconds(self, count: int) -> None:
        """Let so many pass, as the heartbeat waits for them."""
        for _ in range(count):
            assert await self.clock.next() == 1

    async def listen(self) -> None:
        hearing = Listener(
            exchange=CONTROL, models={"worker.heartbeat": WorkerHeartbeat}, handler=self.heard.add
        )
        await self.bus.start(listeners=[self.heartbeat.listener, hearing])


async def test_it_says_what_it_holds_at_once_and_every_five_seconds() -> None:
    worker = Worker(InProcessBus())
    await worker.listen()
    await worker.heartbeat.start()
    [first] = await worker.heard.first(1)
    assert first == WorkerHeartbeat(
        worker_id="w1",
        service="runner",
        pool="high",
        concurrency=8,
        in_flight=("run:case:1:1",),
        at=worker.clock.now(),
    )
    worker.jobs = []
    await worker.seconds(5)
    second = (await worker.heard.first(2))[1]
    assert second.in_flight == ()
    assert second.at == worker.clock.now()
    await worker.seconds(5)
    await worker.heard.first(3)
    await worker.heartbeat.stop()
    assert (await worker.heard.first(4))[3].stopping
    worker.clock.advance(60)
    assert [beat.stopping for beat in worker.heard.items] == [False, False, False, True]


async def test_it_waits_for_the_answer_that_is_meant_for_it() -> None:
    worker = Worker(SharedBus())
    await worker.listen()
    asking = asyncio.create_task(worker.heartbeat.ask_cancelled())
    [question] = await worker.heard.first(1)
    assert question.starting
    await worker.bus.announce(RunCancelled(run_ids=(UUID(int=1),), worker_id="another"))
    await worker.bus.announce(RunCancelled(run_ids=(UUID(int=2),)))
    await worker.bus.announce(RunCancelled(run_ids=(UUID(int=3), UUID(int=4)), worker_id="w1"))
    assert await asking is True
    assert worker.cancelled == [UUID(int=2), UUID(int=3), UUID(int=4)]


async def test_it_does_not_wait_longer_than_two_seconds() -> None:
    worker = Worker(SharedBus())
    await worker.listen()
    asking = asyncio.create_task(worker.heartbeat.ask_cancelled())
    assert await worker.clock.next() == 2
    assert await asking is False
    assert worker.clock.waits() == []


async def test_inside_one_process_nothing_was_missed_so_it_does_not_wait() -> None:
    worker = Worker(InProcessBus())
    await worker.listen()
    assert await worker.heartbeat.ask_cancelled() is True
    assert worker.clock.waits() == []


async def test_it_asks_again_within_a_second_however_short_the_broker_was_away() -> None:
    bus = SharedBus()
    worker = Worker(bus)
    await worker.listen()
    await worker.heartbeat.start()
    bus.made += 1
    await worker.seconds(1)
    await worker.heard.first(2)
    await worker.seconds(4)
    await worker.heard.first(3)
    assert [beat.starting for beat in worker.heard.items] == [False, True, False]
    await worker.heartbeat.stop()


async def test_it_asks_when_the_broker_is_back_and_not_before() -> None:
    bus = SharedBus()
    worker = Worker(bus)
    await worker.listen()
    await worker.heartbeat.start()
    bus.broker_is_there = False
    bus.made += 1  # one of two connections
    await worker.seconds(5)
    await worker.heard.first(2)
    bus.broker_is_there = True
    await worker.seconds(1)
    await worker.heard.first(3)
    assert [beat.starting for beat in worker.heard.items] == [False, False, True]
    await worker.heartbeat.stop()
