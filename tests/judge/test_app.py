"""A judge on the bus inside the process: jobs in, facts out, cancelled runs dropped."""

from __future__ import annotations

import asyncio
from uuid import UUID

from proctor_chassis.bus import Meta, Subscription
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.secrets import Redactor
from proctor_contracts.messages import CaseExecuted, CaseJudged, RunCancelled
from proctor_contracts.results import Verdict
from proctor_contracts.topology import COLLECTOR_RESULTS
from proctor_judge.app import create_judge
from proctor_judge.settings import JudgeServiceSettings
from tests.judge.fakes import FakeJudge, FakeModels, graded, job


async def test_jobs_become_facts_and_those_of_a_cancelled_run_do_not() -> None:
    bus, model = InProcessBus(), FakeJudge([graded("pass")], hang=True)
    judge = create_judge(
        settings=JudgeServiceSettings(worker_id="judge-1", concurrency=1),
        bus=bus,
        models=FakeModels(model),
        redactor=Redactor(),
    )
    facts: asyncio.Queue[CaseJudged] = asyncio.Queue()

    async def collect(fact: CaseJudged, _meta: Meta) -> None:
        await facts.put(fact)

    collector = Subscription(
        queue=COLLECTOR_RESULTS,
        models={"case.executed": CaseExecuted, "case.judged": CaseJudged},
        handler=collect,
        concurrency=1,
    )
    await bus.start((collector,), judge.listeners())
    await judge.start()
    await bus.start(judge.subscriptions())
    try:
        for attempt in (1, 2):
            await bus.publish(job(attempt=attempt))
        await asyncio.wait_for(model.called.wait(), 5)
        await bus.announce(RunCancelled(run_ids=(job().run_id,)))
        await judge.drain(seconds=5)
        model.hang = False
        await bus.publish(job(run_id=UUID(int=9)))
        fact = await asyncio.wait_for(facts.get(), 5)
        assert fact.run_id == UUID(int=9)
        assert fact.assertion_results[0].verdict is Verdict.PASSED
        assert fact.id().endswith(":judge")
        assert facts.empty()
        assert len(model.requests) == 2, "the queued job of the cancelled run never called"
    finally:
        await judge.stop()
        await bus.stop(grace_seconds=1)
