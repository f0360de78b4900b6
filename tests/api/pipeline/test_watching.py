"""What a replica hears in passing: live events for its watchers, heartbeats of workers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from proctor_api.pipeline.hub import MAX_PENDING, Hub
from proctor_api.pipeline.workers import SILENT_AFTER, Workers
from proctor_contracts.messages import LiveEvent, LiveHint, WorkerHeartbeat

ONE, TWO = UUID(int=1), UUID(int=2)
NEVER = 60.0


def event(number: int = 0, run: UUID = ONE) -> LiveEvent:
    return LiveEvent(run_id=run, event="case.started", data={"n": number})


async def test_every_watcher_of_a_run_hears_of_it_and_no_other() -> None:
    hub = Hub()
    with hub.watch(ONE) as first, hub.watch(ONE) as second, hub.watch(TWO) as other:
        assert hub.watching == 3
        hub.heard(event(1))
        for watcher in (first, second):
            assert await watcher.wait(NEVER)
            assert [one.data["n"] for one in watcher.take()] == [1]
            assert watcher.take() == []
        assert other.take() == []
        assert not await other.wait(0.0)
    assert hub.watching == 0


async def test_a_hint_wakes_and_brings_nothing() -> None:
    hub = Hub()
    with hub.watch(ONE) as watcher:
        waiting = asyncio.create_task(watcher.wait(NEVER))
        await asyncio.sleep(0)
        hub.heard(LiveHint(run_id=ONE, seq=3))
        assert await waiting
        assert watcher.take() == []
        # A wake is used up by whoever waited for it.
        assert not await watcher.wait(0.0)


async def test_a_hint_that_came_before_the_wait_is_not_lost() -> None:
    hub = Hub()
    with hub.watch(ONE) as watcher:
        hub.heard(LiveHint(run_id=ONE, seq=3))
        assert await watcher.wait(NEVER)


def test_a_slow_watcher_loses_events_instead_of_memory() -> None:
    hub = Hub()
    with hub.watch(ONE) as watcher:
        for number in range(MAX_PENDING + 50):
            hub.heard(event(number))
        assert len(watcher.take()) == MAX_PENDING


class Time:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def beat(worker: str, **more: Any) -> WorkerHeartbeat:
    fields: dict[str, Any] = {
        "worker_id": worker,
        "service": "runner",
        "concurrency": 8,
        "at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return WorkerHeartbeat(**(fields | more))


def test_a_pools_concurrency_is_that_of_its_living_runners() -> None:
    time = Time()
    workers = Workers(clock=time)
    assert workers.concurrency("default") is None
    workers.heard(beat("a"))
    workers.heard(beat("b", concurrency=4))
    workers.heard(beat("c", pool="high"))
    workers.heard(beat("j", service="judge"))
    assert workers.concurrency("default") == 12
    assert workers.concurrency("high") == 8
    assert workers.counts() == {("runner", "default"): 2, ("runner", "high"): 1, ("judge", "default"): 1}
    workers.heard(beat("b", stopping=True))
    assert workers.concurrency("default") == 8
    time.now += SILENT_AFTER + timedelta(seconds=1)
    assert workers.concurrency("default") is None


def test_a_job_is_held_as_long_as_its_worker_says_so() -> None:
    time = Time()
    workers = Workers(clock=time)
    workers.heard(beat("a", in_flight=("j1", "j2")))
    assert workers.holds("j1")
    workers.heard(beat("a", in_flight=("j2",)))
    assert not workers.holds("j1")
    assert workers.holds("j2")
    time.now += SILENT_AFTER + timedelta(seconds=1)
    assert not workers.holds("j2")


def test_a_worker_that_is_only_starting_is_not_there_yet() -> None:
    workers = Workers(clock=Time())
    workers.heard(beat("a", starting=True))
    assert workers.counts() == {}


def test_a_new_replica_first_listens_for_everybody() -> None:
    time = Time()
    workers = Workers(clock=time)
    assert not workers.listened_long_enough()
    time.now += SILENT_AFTER
    assert workers.listened_long_enough()
