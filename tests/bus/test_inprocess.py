"""The behaviour suite inside one process, and what only holds there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from proctor_chassis.bus import Bus, Listener, Meta, Subscription
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.messages import CaseExecuted, WorkerHeartbeat
from proctor_contracts.topology import CONTROL, runner_queue
from tests.bus.behaviour import *  # noqa: F403 - the suite is collected here
from tests.bus.hearing import *  # noqa: F403 - as above
from tests.bus.hearing import BEAT
from tests.bus.world import PATIENCE, Collected, collector, executed, number_of, taking
from tests.support.manual_clock import ManualClock


class OneProcess:
    """One bus, and a clock that a test moves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.shared: InProcessBus | None = None

    async def bus(self, *, pools: tuple[str, ...] = ()) -> Bus:
        if self.shared is None:
            self.shared = InProcessBus(pools=pools, clock=self.clock)
        return self.shared

    async def rung(self) -> None:
        await self.clock.next()


@pytest.fixture
async def world() -> AsyncIterator[OneProcess]:
    one = OneProcess()
    yield one
    if one.shared is not None:
        await one.shared.stop(grace_seconds=0)


async def test_what_a_draining_job_reports_is_still_recorded() -> None:
    bus, gate, started, recorded = InProcessBus(), asyncio.Event(), asyncio.Event(), Collected()

    async def play(_message: CaseExecuted, _meta: Meta) -> None:
        started.set()
        await gate.wait()
        await bus.publish(executed(1))

    jobs = Subscription(
        queue=runner_queue("default"),
        models={"case.requested.default": CaseExecuted},
        handler=play,
        concurrency=1,
    )
    await bus.start([jobs, collector(taking(recorded))])
    for number in range(2):
        await bus.publish_raw(
            exchange="proctor.jobs",
            key="case.requested.default",
            body=executed(number).model_dump_json().encode(),
            message_id=str(number),
            correlation="run",
        )
    async with asyncio.timeout(PATIENCE):
        await started.wait()
    stopping = asyncio.create_task(bus.stop(grace_seconds=PATIENCE))
    gate.set()
    await stopping
    assert recorded.items == [1]
    depth = await bus.depth(runner_queue("default").name)
    assert depth is not None
    assert depth.ready == 1


async def test_delays_are_those_of_the_ladder() -> None:
    clock, tries = ManualClock(), Collected()
    bus = InProcessBus(clock=clock)

    async def handler(_message: CaseExecuted, meta: Meta) -> None:
        await tries.add(meta.delivery)
        raise ValueError("a bug")

    await bus.start([collector(handler)])
    await bus.publish(executed(1))
    assert await clock.next() == 5
    assert await clock.next() == 30
    await tries.first(3)
    assert clock.waits() == []
    await bus.stop(grace_seconds=1)


async def test_nothing_stays_arranged_after_a_stop() -> None:
    clock, tries = ManualClock(), Collected()
    bus = InProcessBus(clock=clock)

    async def handler(_message: CaseExecuted, meta: Meta) -> None:
        await tries.add(meta.delivery)
        raise ValueError("a bug")

    await bus.start([collector(handler)])
    await bus.publish(executed(1))
    await tries.first(1)
    await bus.stop(grace_seconds=PATIENCE)
    clock.advance(3600)
    assert tries.items == [1]


async def test_a_consumer_that_comes_later_gets_what_waited() -> None:
    bus, got = InProcessBus(), Collected()
    for number in range(3):
        await bus.publish(executed(number))
    await bus.start([collector(taking(got))])
    assert await got.first(3) == [0, 1, 2]
    await bus.stop(grace_seconds=1)


async def test_a_listener_that_never_returns_does_not_hold_up_the_stop() -> None:
    bus, got = InProcessBus(), Collected()

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        await got.add(number_of(message))

    async def stuck(_beat: object) -> None:
        await asyncio.Event().wait()

    await bus.start(
        [collector(handler)],
        [Listener(exchange=CONTROL, models={"worker.heartbeat": WorkerHeartbeat}, handler=stuck)],
    )
    await bus.announce(BEAT)
    async with asyncio.timeout(PATIENCE):
        await bus.stop(grace_seconds=3600)
    assert not bus.connected
