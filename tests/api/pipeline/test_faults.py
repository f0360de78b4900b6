"""What goes wrong around the pipeline, and what its runs make of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from typing_extensions import override

from proctor_chassis.bus import Bus, BusUnavailable, Depth
from proctor_chassis.bus.errors import RetryLater
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.enums import Blame, ResultStatus, RunStatus
from proctor_contracts.messages import Transient, WorkerHeartbeat
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.topology import COLLECTOR_RESULTS, Delay
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database, StoreUnavailable, Unit
from tests.support.platform import Platform, case, executed, open_platform

AT_ONCE = (Delay("proctor.retry.0s", 0.0),)


@dataclass
class Broker:
    """A bus that can be away for whoever publishes through it."""

    bus: InProcessBus
    away: bool = False
    connections: int = 1

    @property
    def connected(self) -> bool:
        return not self.away

    async def publish_raw(self, **message: Any) -> None:
        if self.away:
            raise BusUnavailable("away")
        await self.bus.publish_raw(**message)

    async def announce(self, message: Transient) -> None:
        if not self.away:
            await self.bus.announce(message)

    async def depth(self, queue: str) -> Depth | None:
        return None if self.away else await self.bus.depth(queue)


class Away(Database):
    """A database that can be away for writers."""

    away = False

    @override
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Unit]:
        if self.away:
            raise StoreUnavailable("away")
        async with super().transaction() as unit:
            yield unit


Opening = Callable[..., AbstractAsyncContextManager[Platform]]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Away]:
    database = Away(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    yield database
    await database.close()


@pytest.fixture
def bus() -> InProcessBus:
    return InProcessBus(ladder=AT_ONCE)


@pytest.fixture
def broker(bus: InProcessBus) -> Broker:
    return Broker(bus)


@pytest.fixture
def opening(database: Database, bus: InProcessBus, broker: Broker) -> Opening:
    def open_(*, alone: bool = False, **more: Any) -> AbstractAsyncContextManager[Platform]:
        return open_platform(database, bus, alone=alone, publish_through=cast("Bus", broker), **more)

    return open_


@pytest.fixture
async def platform(opening: Opening, bus: InProcessBus) -> AsyncIterator[Platform]:
    async with opening() as platform:
        yield platform
        await bus.stop(grace_seconds=0)


async def outbox_rows(platform: Platform) -> int:
    return len(await platform.rows("SELECT 1 FROM outbox"))


async def test_a_run_is_pending_while_the_broker_is_away_and_goes_on_when_it_is_back(
    platform: Platform, broker: Broker
) -> None:
    broker.away = True
    run = await platform.start(case("А"), case("Б"))
    assert await platform.pipeline.relay.drain() == 0
    assert (await platform.services.runs.get(platform.caller, run.id)).status is RunStatus.PENDING
    assert await outbox_rows(platform) == 2
    broker.away = False
    platform.pipeline.relay.wake()
    done = await platform.finished(run)
    assert done.status is RunStatus.COMPLETED
    assert done.started_at is not None
    assert await platform.eventually(lambda: outbox_rows(platform), lambda rows: rows == 0) == 0


async def test_cancelling_drops_the_jobs_that_have_not_left(platform: Platform, broker: Broker) -> None:
    broker.away = True
    run = await platform.start(case("А"), case("Б"))
    cancelled = await platform.services.runs.cancel(platform.caller, run.id)
    assert cancelled.started_at is None
    # What others must hear of the run stays.
    assert [row.key for row in await platform.rows("SELECT key FROM outbox")] == ["run.completed"]
    broker.away = False
    platform.pipeline.relay.wake()

    async def heard() -> list[UUID]:
        return [message.run_id for message in platform.completed]

    assert await platform.eventually(heard, bool) == [run.id]
    assert platform.runner.jobs == []


@pytest.mark.parametrize(("alone", "buried"), [(False, 1), (True, 0)])
async def test_a_job_that_no_queue_takes_ends_its_case_and_not_the_run(
    opening: Opening, bus: InProcessBus, *, alone: bool, buried: int
) -> None:
    async with opening(alone=alone) as platform:
        run = await platform.start(case("А"), pool="nowhere")
        done = await platform.finished(run)
        result = (await platform.results(run))["А"]
        assert done.status is RunStatus.FAILED
        assert result.error is not None
        assert (result.error.code, result.error.blame) == ("undeliverable", Blame.INFRASTRUCTURE)
        assert "PROCTOR_POOLS" in result.error.message
        assert len(await platform.rows("SELECT 1 FROM outbox_dead")) == buried
        await bus.stop(grace_seconds=0)


async def test_what_was_buried_is_told_again_when_the_database_was_away(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    undeliverable = platform.pipeline.collector.undeliverable

    async def first_time_away(message: Any, reason: str) -> None:
        told.append(message.message_id)
        if len(told) == 1:
            raise RetryLater("the database is away")
        await undeliverable(message, reason)

    monkeypatch.setattr(platform.pipeline.collector, "undeliverable", first_time_away)
    run = await platform.start(case("А"), pool="nowhere")
    assert (await platform.finished(run)).status is RunStatus.FAILED
    assert len(told) == 2


async def test_a_job_that_kills_its_workers_ends_in_error(platform: Platform) -> None:
    platform.runner.dying = {"А"}
    run = await platform.start(case("А"), case("Б"))
    await platform.finished(run)
    results = await platform.results(run)
    assert results["Б"].status is ResultStatus.PASSED
    dead = results["А"]
    assert (dead.status, dead.attempt_count) == (ResultStatus.ERROR, 1)
    assert dead.error is not None
    assert dead.error.code == "job_dead"
    assert "retries_exhausted" in dead.error.message
    assert len([job for job in platform.runner.jobs if job.case.name == "А"]) == 3


async def test_a_poisonous_report_fails_alone(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"), case("Б"), case("В"))
    await platform.runner.holds(3)
    bad, *good = platform.runner.of(run.id)
    nonsense = AssertionResult(index=99, kind="judge", verdict=Verdict.PENDING)
    await platform.bus.publish(executed(bad, assertion_results=(nonsense,)))
    for job in good:
        await platform.bus.publish(executed(job))
    await platform.finished(run)
    results = await platform.results(run)
    assert {name: one.status.value for name, one in results.items()} == {
        bad.case.name: "error",
        good[0].case.name: "passed",
        good[1].case.name: "passed",
    }
    error = results[bad.case.name].error
    assert error is not None
    assert error.code == "job_dead"
    assert COLLECTOR_RESULTS.name in error.message


async def test_a_lost_judge_leaves_its_criteria_undecided(platform: Platform) -> None:
    platform.judge.dying = {"А"}
    run = await platform.start(case("А", judges=1, threshold=100))
    await platform.finished(run)
    result = (await platform.results(run))["А"]
    assert result.error is not None
    assert result.error.code == "inconclusive"
    assert any("retries_exhausted" in line for line in result.logs)


async def test_an_outage_of_the_database_is_not_counted_against_a_report(
    platform: Platform, database: Away
) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    await platform.runner.holds(1)
    database.away = True
    refused = 0
    job = platform.runner.of(run.id)[0]
    for _ in range(5):
        with pytest.raises(RetryLater) as away:
            await platform.pipeline.collector.report(executed(job))
        refused += not away.value.counted
    assert refused == 5
    database.away = False
    platform.runner.release()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED


async def test_a_report_to_a_stopped_collector_comes_again(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    await platform.runner.holds(1)
    await platform.pipeline.collector.stop()
    with pytest.raises(RetryLater) as stopping:
        await platform.pipeline.collector.report(executed(platform.runner.of(run.id)[0]))
    assert not stopping.value.counted


async def lost(platform: Platform) -> int:
    """Let so much time pass that a job could be lost, and sweep."""
    platform.time.ahead += timedelta(minutes=3)
    return await platform.pipeline.sweeper.sweep()


async def test_a_lost_job_is_sent_once_more_and_then_given_up(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    await platform.runner.holds(1)
    assert await platform.pipeline.sweeper.sweep() == 0
    assert await lost(platform) == 1
    first, second = await platform.runner.took(2)
    assert first.id() == second.id()
    assert await lost(platform) == 1
    done = await platform.finished(run)
    assert done.status is RunStatus.FAILED
    result = (await platform.results(run))["А"]
    assert result.error is not None
    assert (result.error.code, result.error.blame) == ("worker_lost", Blame.INFRASTRUCTURE)
    platform.runner.release()

    async def late() -> float:
        return platform.duplicates.total

    await platform.eventually(late, lambda count: count == 2)
    assert (await platform.results(run))["А"] == result


async def test_a_second_loss_of_another_phase_is_a_first_one(platform: Platform) -> None:
    platform.runner.holding = platform.judge.holding = True
    run = await platform.start(case("А", judges=1))
    await platform.runner.holds(1)
    assert await lost(platform) == 1
    await platform.runner.holds(2)
    platform.runner.release()
    await platform.judge.holds(1)
    assert await lost(platform) == 1
    first, second = await platform.judge.took(2)
    assert first == second
    assert first.criteria
    assert first.transcript
    platform.judge.release()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED


async def test_a_judge_lost_twice_leaves_the_case_undecided(platform: Platform) -> None:
    platform.judge.holding = True
    run = await platform.start(case("А", judges=1, threshold=100))
    await platform.judge.holds(1)
    assert await lost(platform) == 1
    await platform.judge.holds(2)
    assert await lost(platform) == 1
    await platform.finished(run)
    result = (await platform.results(run))["А"]
    assert result.error is not None
    assert result.error.code == "inconclusive"
    assert any("lost twice" in line for line in result.logs)


async def test_what_a_living_worker_holds_is_not_lost(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    [job] = await platform.runner.took(1)
    platform.time.ahead += timedelta(minutes=3)
    beat = WorkerHeartbeat(
        worker_id="w1", service="runner", concurrency=8, in_flight=(job.id(),), at=platform.time.now()
    )
    platform.pipeline.workers.heard(beat)
    assert await platform.pipeline.sweeper.sweep() == 0
    # Its heartbeat is missing for too long now.
    assert await lost(platform) == 1
    platform.runner.release()
    await platform.finished(run)


async def test_what_waits_in_a_queue_is_not_lost(opening: Opening, bus: InProcessBus) -> None:
    async with opening(works=False) as platform:
        run = await platform.start(case("А"))

        async def queued() -> int:
            found = await bus.depth("proctor.runner.cases.default")
            return 0 if found is None else found.ready

        await platform.eventually(queued, lambda ready: ready == 1)
        assert await lost(platform) == 0
        await bus.start(platform.runner.subscriptions())
        assert (await platform.finished(run)).status is RunStatus.COMPLETED
        await bus.stop(grace_seconds=0)


async def test_nothing_is_lost_while_nobody_can_look_into_the_queues(
    platform: Platform, broker: Broker
) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    await platform.runner.holds(1)
    broker.away = True
    assert await lost(platform) == 0
    broker.away = False
    platform.runner.release()
    await platform.finished(run)


async def test_everything_that_one_worker_took_down_is_sent_again_together(platform: Platform) -> None:
    platform.runner.holding = True
    run = await platform.start(*(case(f"{n}") for n in range(5)))
    await platform.runner.holds(5)
    assert await lost(platform) == 5
    jobs = await platform.runner.took(10)
    assert sorted(job.id() for job in jobs[:5]) == sorted(job.id() for job in jobs[5:])
    platform.runner.release()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED


async def test_what_has_not_left_the_outbox_is_not_lost(platform: Platform, broker: Broker) -> None:
    broker.away = True
    run = await platform.start(case("А"))
    broker.depth = platform.bus.depth  # type: ignore[method-assign]  # the queues can be seen already
    assert await lost(platform) == 0
    assert await outbox_rows(platform) == 1
    broker.away = False
    platform.pipeline.relay.wake()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED
    assert len(platform.runner.jobs) == 1


async def test_one_replica_sweeps_at_a_time(
    platform: Platform, database: Database, bus: InProcessBus
) -> None:
    platform.runner.holding = True
    run = await platform.start(case("А"))
    await platform.runner.holds(1)
    async with open_platform(database, bus, alone=False, collects=False, works=False) as other:
        assert await lost(platform) == 1
        other.time.ahead = platform.time.ahead + timedelta(seconds=20)
        assert await other.pipeline.sweeper.sweep() == 0
        # The claim has run out; what was sent again a moment ago is not lost yet.
        other.time.ahead += timedelta(minutes=3)
        assert await other.pipeline.sweeper.sweep() == 1
    assert (await platform.finished(run)).status is RunStatus.FAILED


async def test_a_new_owner_sends_again_what_was_outstanding(database: Database) -> None:
    crashed = InProcessBus()
    async with open_platform(database, crashed, alone=True) as before:
        before.runner.holding = before.judge.holding = True
        run = await before.start(
            case("А"), case("Б", judges=1), case("В"), case("Г"), concurrency=2, budgetCents=50
        )
        await before.runner.holds(2)
        before.runner.release(2)
        await before.judge.holds(1)
        await before.runner.holds(2)
        await crashed.stop(grace_seconds=0)
        caller = before.caller
    bus = InProcessBus()
    async with open_platform(database, bus, alone=True) as after:
        after.caller = caller
        assert await after.pipeline.sweeper.resume() == 3
        done = await after.finished(run)
        assert done.status is RunStatus.COMPLETED
        assert done.summary is not None
        assert done.summary.passed == 4
        assert sorted(job.case.name for job in after.runner.jobs) == ["В", "Г"]
        assert {job.budget_micro_usd for job in after.runner.jobs} == {20_000}
        [judging] = after.judge.jobs
        assert len(judging.criteria) == 1
        assert judging.transcript
        await bus.stop(grace_seconds=0)


async def test_watching_a_run_ends_when_it_is_deleted_with_its_integration(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform.services.feed, "_net", 0.01)
    platform.runner.holding = True
    integration, _ = await platform.cases(case("А"))
    run = await platform.run(integration)
    feed = platform.feed(run.id)
    assert (await anext(feed)).event == "run.started"
    await platform.services.integrations.delete(platform.caller, integration)
    assert [event.event async for event in feed if event.seq is not None] == []
    assert platform.pipeline.hub.watching == 0
    # A report of a run that is gone changes nothing and harms nobody.
    platform.runner.release()

    async def late() -> float:
        return platform.duplicates.total

    await platform.eventually(late, lambda count: count == 1)
