"""A worker: one job once, facts that reach the bus in the end, nothing of cancelled runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest

from proctor_chassis.bus import BusUnavailable, Depth, Listener, Meta, RetryLater
from proctor_chassis.clock import SystemClock
from proctor_chassis.worker import Worker
from proctor_contracts.enums import RunStatus
from proctor_contracts.messages import CaseExecuted, Message, RunCompleted, Transient, WorkerHeartbeat
from proctor_contracts.summary import RunSummary

META = Meta("m", "c", 1)


class FakeBus:
    """Keeps what it is given; `away` refuses facts."""

    connected = True
    consuming = True
    connections = 1
    local = True

    def __init__(self) -> None:
        self.away = False
        self.facts: list[Message] = []
        self.announced: list[Transient] = []

    async def publish(self, message: Message) -> None:
        if self.away:
            raise BusUnavailable("the broker is away")
        self.facts.append(message)

    async def publish_raw(
        self, *, exchange: str, key: str, body: bytes, message_id: str, correlation: str
    ) -> None:
        raise NotImplementedError(exchange, key, body, message_id, correlation)

    async def announce(self, message: Transient) -> None:
        self.announced.append(message)

    async def start(self, subscriptions: Sequence[object] = (), listeners: Sequence[Listener] = ()) -> None:
        raise NotImplementedError(subscriptions, listeners)

    async def pause(self) -> None:
        raise NotImplementedError

    async def stop(self, *, grace_seconds: float) -> None:
        raise NotImplementedError(grace_seconds)

    async def depth(self, queue: str) -> Depth | None:
        raise NotImplementedError(queue)


def job(run: int = 1) -> RunCompleted:
    """Any message will do as a job; this one is small."""
    return RunCompleted(
        run_id=UUID(int=run),
        account_id=UUID(int=2),
        integration_id=UUID(int=3),
        status=RunStatus.COMPLETED,
        completed_at=datetime.now(UTC),
        summary=RunSummary(),
    )


class Bench:
    """A worker whose jobs end when the test lets them."""

    def __init__(self) -> None:
        self.bus = FakeBus()
        self.done: list[UUID] = []
        self.began = asyncio.Event()
        self.go = asyncio.Event()
        self.worker = Worker[RunCompleted, CaseExecuted](
            bus=self.bus,
            work=self.work,
            service="runner",
            worker_id="w1",
            pool="default",
            concurrency=3,
            clock=SystemClock(),
        )

    async def work(self, given: RunCompleted) -> CaseExecuted:
        self.began.set()
        await self.go.wait()
        self.done.append(given.run_id)
        now = datetime.now(UTC)
        return CaseExecuted(
            run_id=given.run_id,
            result_id=UUID(int=5),
            case_id=UUID(int=6),
            started_at=now,
            finished_at=now,
        )


async def test_a_fact_that_could_not_be_sent_is_sent_on_redelivery_without_doing_the_job_again() -> None:
    bench = Bench()
    bench.go.set()
    bench.bus.away = True
    with pytest.raises(BusUnavailable):
        await bench.worker.handle(job(), META)
    bench.bus.away = False
    await bench.worker.handle(job(), META)
    assert len(bench.done) == 1
    assert len(bench.bus.facts) == 1


async def test_an_awaiting_handler_that_is_cut_off_leaves_the_job_running() -> None:
    bench = Bench()
    first = asyncio.create_task(bench.worker.handle(job(), META))
    await bench.began.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(bench.worker.handle(job(), META))
    bench.go.set()
    await second
    assert len(bench.done) == 1
    assert len(bench.bus.facts) == 1


async def test_cancelled_runs_are_dropped_in_hand_and_before_they_start() -> None:
    bench = Bench()
    running = asyncio.create_task(bench.worker.handle(job(), META))
    await bench.began.wait()
    bench.worker.runs_cancelled((UUID(int=1),))
    await running
    await bench.worker.handle(job(), META)
    bench.go.set()
    await bench.worker.handle(job(run=2), META)
    assert bench.done == [UUID(int=2)]
    assert [fact.correlation() for fact in bench.bus.facts] == [str(UUID(int=2))]


async def test_draining_waits_for_the_jobs_in_hand_and_no_longer_than_it_may() -> None:
    bench = Bench()
    running = asyncio.create_task(bench.worker.handle(job(), META))
    await bench.began.wait()
    await bench.worker.drain(seconds=0)
    assert bench.bus.facts == []
    draining = asyncio.create_task(bench.worker.drain(seconds=5))
    bench.go.set()
    await draining
    assert len(bench.bus.facts) == 1
    await running


async def test_stopping_gives_running_jobs_back_and_says_goodbye() -> None:
    bench = Bench()
    await bench.worker.start()
    running = asyncio.create_task(bench.worker.handle(job(), META))
    await bench.began.wait()
    await bench.worker.stop()
    with pytest.raises(RetryLater):
        await running
    beats = [message for message in bench.bus.announced if isinstance(message, WorkerHeartbeat)]
    assert [(beat.starting, beat.stopping) for beat in beats] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert beats[0].concurrency == 3
