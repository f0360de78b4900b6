"""A runner on the bus inside the process: jobs in, facts out, cancelled runs dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from proctor_chassis.bus import Listener, Meta, Subscription
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.secrets import Redactor
from proctor_contracts.messages import (
    CaseExecuted,
    CaseJudged,
    LiveEvent,
    RunCancelled,
    Transient,
    WorkerHeartbeat,
)
from proctor_contracts.results import Verdict
from proctor_contracts.topology import COLLECTOR_RESULTS, CONTROL, LIVE, runner_queue
from proctor_grading.regex import QuickJsRegex
from proctor_runner.app import RunnerService, create_runner
from proctor_runner.settings import RunnerSettings
from tests.runner.fakes import (
    GRADING,
    RUN,
    FakeAgent,
    FakeHandlers,
    FakeModels,
    asks,
    gateway_job,
    handler,
    job,
    use,
)

OTHER_RUN = UUID(int=77)


@dataclass
class Stage:
    """A runner, its agent, and all that it said on the bus."""

    bus: InProcessBus
    agent: FakeAgent
    handlers: FakeHandlers
    runner: RunnerService
    facts: list[CaseExecuted] = field(default_factory=list)
    heard: list[Transient] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def collect(self, fact: CaseExecuted, _meta: Meta) -> None:
        async with self.changed:
            self.facts.append(fact)
            self.changed.notify_all()

    async def hear(self, message: Transient) -> None:
        async with self.changed:
            self.heard.append(message)
            self.changed.notify_all()

    async def facts_are(self, count: int) -> list[CaseExecuted]:
        async with asyncio.timeout(5), self.changed:
            await self.changed.wait_for(lambda: len(self.facts) >= count)
        return self.facts

    async def settled(self) -> None:
        """Wait until the runner's queue is empty and nothing is in hand."""
        await self.runner.drain(seconds=5)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    bus, agent, handlers = InProcessBus(), FakeAgent(), FakeHandlers()
    runner = create_runner(
        settings=RunnerSettings(worker_id="runner-1", concurrency=2),
        bus=bus,
        models=FakeModels(agent),
        handlers=handlers,
        redactor=Redactor(),
        regex=QuickJsRegex(),
        regex_thread=GRADING,
    )
    stage = Stage(bus, agent, handlers, runner)
    collector = Subscription(
        queue=COLLECTOR_RESULTS,
        models={"case.executed": CaseExecuted, "case.judged": CaseJudged},
        handler=stage.collect,
        concurrency=4,
    )
    ears = (
        Listener(exchange=LIVE, models={"live.event": LiveEvent}, handler=stage.hear),
        Listener(exchange=CONTROL, models={"worker.heartbeat": WorkerHeartbeat}, handler=stage.hear),
    )
    await bus.start((collector,), (*runner.listeners(), *ears))
    await runner.start()
    await bus.start(runner.subscriptions())
    yield stage
    await runner.stop()
    await bus.stop(grace_seconds=1)


async def test_a_job_becomes_a_fact_with_graded_assertions(stage: Stage) -> None:
    wanted = job(
        "Добрий день",
        assertions=[
            {"kind": "contains", "value": "Чим допомогти"},
            {"kind": "regex", "pattern": "^вітаю", "flags": "iu"},
            {"kind": "judge", "rubric": "Вітається"},
        ],
    )
    await stage.bus.publish(wanted)
    fact = (await stage.facts_are(1))[0]
    assert fact.id() == wanted.id()
    assert [result.verdict for result in fact.assertion_results] == [
        Verdict.PASSED,
        Verdict.PASSED,
        Verdict.PENDING,
    ]
    assert fact.worker_id == "runner-1"
    assert fact.finished_at >= fact.started_at


async def test_whoever_watches_hears_that_the_case_began(stage: Stage) -> None:
    await stage.bus.publish(job())
    await stage.facts_are(1)
    started = [message for message in stage.heard if isinstance(message, LiveEvent)]
    assert [(event.run_id, event.event, event.data["trial"]) for event in started] == [
        (RUN, "case.started", 1)
    ]


async def test_whoever_watches_hears_in_which_weather_the_case_began(stage: Stage) -> None:
    await stage.bus.publish(job(weather="timeout@1"))
    await stage.facts_are(1)
    (started,) = (message for message in stage.heard if isinstance(message, LiveEvent))
    assert started.data["weather"] == "timeout@1"


async def test_the_same_job_delivered_twice_is_played_once(stage: Stage) -> None:
    await stage.bus.publish(job())
    await stage.bus.publish(job())
    first, second = await stage.facts_are(2)
    assert first == second
    assert len(stage.agent.requests) == 1


async def test_no_more_than_the_concurrency_are_played_at_once(stage: Stage) -> None:
    stage.agent.hang = True
    for attempt in range(1, 6):
        await stage.bus.publish(job(attempt=attempt))
    await asyncio.wait_for(stage.agent.called.wait(), 5)
    depth = await stage.bus.depth(runner_queue("default").name)
    assert depth is not None
    assert (depth.unacked, depth.ready) == (2, 3)


async def test_a_cancelled_run_is_dropped_in_mid_call_and_in_the_queue(stage: Stage) -> None:
    stage.agent.hang = True
    for attempt in range(1, 6):
        await stage.bus.publish(job("Раз", "Два", attempt=attempt))
    await asyncio.wait_for(stage.agent.called.wait(), 5)
    await stage.bus.announce(RunCancelled(run_ids=(RUN,)))
    await asyncio.wait_for(stage.agent.cancelled.wait(), 5)
    await stage.settled()
    calls = len(stage.agent.requests)
    stage.agent.hang = False
    await stage.bus.publish(job(attempt=9))
    await stage.bus.publish(job(run_id=OTHER_RUN))
    facts = await stage.facts_are(1)
    assert [fact.run_id for fact in facts] == [OTHER_RUN]
    assert calls <= 2, "only what was in a call when the run was cancelled has called"
    assert len(stage.agent.requests) == calls + 1


async def test_a_cancelled_run_is_dropped_in_mid_call_of_a_tool(stage: Stage) -> None:
    stage.handlers.hang = True
    stage.agent.answers = (asks(use("get_order")),)
    await stage.bus.publish(gateway_job(handlers=(handler("get_order", is_side_effect=False),)))
    await asyncio.wait_for(stage.handlers.called.wait(), 5)
    await stage.bus.announce(RunCancelled(run_ids=(RUN,)))
    await asyncio.wait_for(stage.handlers.cancelled.wait(), 5)
    await stage.settled()
    assert stage.facts == []
    assert len(stage.agent.requests) == 1, "no tool result was sent back"


async def test_a_second_cancel_changes_nothing(stage: Stage) -> None:
    for _ in range(2):
        await stage.bus.announce(RunCancelled(run_ids=(RUN,)))
    await stage.bus.publish(job(run_id=OTHER_RUN))
    assert (await stage.facts_are(1))[0].run_id == OTHER_RUN


async def test_a_worker_announces_itself_with_its_pool_and_concurrency(stage: Stage) -> None:
    async with asyncio.timeout(5), stage.changed:
        await stage.changed.wait_for(
            lambda: sum(isinstance(message, WorkerHeartbeat) for message in stage.heard) >= 2
        )
    beats = [message for message in stage.heard if isinstance(message, WorkerHeartbeat)]
    assert [beat.starting for beat in beats[:2]] == [True, False]
    assert {(beat.service, beat.pool, beat.concurrency) for beat in beats} == {("runner", "default", 2)}


async def test_what_a_stopping_runner_drops_goes_back_to_the_queue(stage: Stage) -> None:
    stage.agent.hang = True
    await stage.bus.publish(job())
    await asyncio.wait_for(stage.agent.called.wait(), 5)
    await stage.bus.pause()
    await stage.runner.drain(seconds=0)
    await stage.runner.stop()
    assert stage.agent.cancelled.is_set()
    assert stage.facts == []
    assert len(stage.bus._timers) == 1, "the job waits to be delivered again"
