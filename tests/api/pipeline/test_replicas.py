"""Several replicas of the API on one PostgreSQL and one RabbitMQ: nothing twice, nothing lost."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from proctor_chassis.bus.rabbit import RabbitBus
from proctor_contracts.enums import RunStatus
from proctor_contracts.schemas.cases import BulkCases
from proctor_contracts.schemas.integrations import IntegrationPatch
from proctor_contracts.schemas.runs import RunCreate
from proctor_contracts.topology import COLLECTOR_RESULTS
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade
from proctor_store.session import Database
from tests.api.pipeline.behaviour import kept, recounted
from tests.support.platform import Platform, case, open_platform

pytestmark = pytest.mark.real
RUNS = 10
CASES = 6

Replica = Callable[..., Awaitable[Platform]]


@pytest.fixture
async def replica(database_url: str, amqp_url: str) -> AsyncIterator[Replica]:
    """Open as many replicas as a test wants, each with connections of its own."""
    await upgrade(database_url)
    async with AsyncExitStack() as stack:

        async def open_one(**more: Any) -> Platform:
            own = Database(create_engine(database_url))
            stack.push_async_callback(own.close)
            bus = RabbitBus(amqp_url, name="replica")
            platform = await stack.enter_async_context(open_platform(own, bus, alone=False, **more))
            stack.push_async_callback(bus.stop, grace_seconds=0)
            return platform

        yield open_one


async def completions(platform: Platform, runs: list[UUID]) -> list[UUID]:
    """Which of these runs were announced as completed, as often as they were."""
    return sorted(message.run_id for message in platform.completed if message.run_id in runs)


async def test_last_results_that_race_complete_each_run_once(replica: Replica) -> None:
    first = await replica()
    second = await replica(works=False)
    second.caller = first.caller
    first.runner.holding, first.runner.copies = True, 2
    integration, _ = await first.cases(*(case(f"{n}") for n in range(CASES)))
    runs = [(await first.run(integration)).id for _ in range(RUNS)]
    await first.runner.holds(RUNS * CASES)
    first.runner.release()
    for run in runs:
        assert (await second.finished(run)).status is RunStatus.COMPLETED
        assert await kept(first, run) == await recounted(first, run)

    async def heard() -> list[UUID]:
        return sorted([*await completions(first, runs), *await completions(second, runs)])

    await first.eventually(heard, lambda ids: len(ids) >= RUNS)
    assert await heard() == sorted(runs)
    assert first.duplicates.total + second.duplicates.total == RUNS * CASES


async def test_one_key_starts_one_run_on_two_replicas(replica: Replica) -> None:
    first, second = await replica(), await replica(works=False)
    integration, _ = await first.cases(case("А"))
    body = RunCreate.model_validate({"integrationId": integration, "caseFilter": {}})
    answers = await asyncio.gather(
        *(
            platform.services.runs.start(first.caller, body, idempotency_key="one")
            for platform in (first, second) * 4
        )
    )
    assert sum(new for _, new in answers) == 1
    assert len({run.id for run, _ in answers}) == 1
    await first.finished(answers[0][0])


async def test_nobody_waits_for_each_other_in_a_circle(replica: Replica) -> None:
    first, second = await replica(), await replica(works=False)
    second.caller = await first.account(max_concurrent=5)
    first.runner.script = {"1": ("fail",)}
    integration, _ = await first.cases(*(case(f"{n}", ref=f"r{n}") for n in range(4)))
    cases = BulkCases.model_validate(
        {"integrationId": integration, "cases": [case(f"{n}", ref=f"r{n}") for n in range(4)]}
    )
    chance = random.Random(7)
    started: list[UUID] = []

    async def runs_of(platform: Platform) -> None:
        for _ in range(8):
            run = await platform.run(integration, retriesOnFailure=1, concurrency=2)
            started.append(run.id)
            if chance.random() < 0.4:
                await platform.services.runs.cancel(platform.caller, run.id)

    async def edits_of(platform: Platform) -> None:
        for n in range(8):
            added = case(f"ще {n}", ref=f"{id(platform)}-{n}", isActive=False)
            more = BulkCases.model_validate({"integrationId": integration, "cases": [added]})
            for bulk in (cases, more):
                await platform.services.bulk.upsert(platform.caller, bulk)
            patch = IntegrationPatch(agent_prompt=f"Будь чемним, {n}.")
            await platform.services.integrations.patch(platform.caller, integration, patch)

    async with asyncio.TaskGroup() as work:
        for platform in (first, second):
            for job in (runs_of, runs_of, edits_of):
                work.create_task(job(platform))
    for run in started:
        done = await first.finished(run)
        assert done.status in {RunStatus.COMPLETED, RunStatus.CANCELLED}
        assert await kept(first, run) == await recounted(first, run)
    assert first.runner.account_peak[first.caller.account_id] <= 5


@asynccontextmanager
async def api_process(database_url: str, amqp_url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A replica that can be killed."""
    env = os.environ | {
        "PROCTOR_DATABASE_URL": database_url,
        "PROCTOR_AMQP_URL": amqp_url,
        "PROCTOR_HTTP_HOST": "127.0.0.1",
        "PROCTOR_HTTP_PORT": "0",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proctor_api", env=env, stdout=asyncio.subprocess.DEVNULL, stderr=None
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_collector_that_is_killed_takes_nothing_with_it(
    replica: Replica, database_url: str, amqp_url: str
) -> None:
    watching = await replica(collects=False)
    async with api_process(database_url, amqp_url) as doomed, api_process(database_url, amqp_url):

        async def consumers() -> int:
            found = await watching.bus.depth(COLLECTOR_RESULTS.name)
            return 0 if found is None else found.consumers

        await watching.eventually(consumers, lambda count: count == 2)
        watching.runner.holding = True
        integration, _ = await watching.cases(*(case(f"{n}") for n in range(CASES)))
        runs = [(await watching.run(integration)).id for _ in range(RUNS)]
        await watching.runner.holds(RUNS * CASES)
        half = RUNS * CASES // 2
        watching.runner.release(half)

        async def written() -> int:
            return len(await watching.rows("SELECT 1 FROM result_phases"))

        before = await written()
        await watching.eventually(written, lambda count: count > before or count >= half)
        watching.runner.release()
        doomed.kill()
        for run in runs:
            assert (await watching.finished(run)).status is RunStatus.COMPLETED
            assert await kept(watching, run) == await recounted(watching, run)
            events = [event.event for event in await watching.events(run)]
            assert events.count("run.completed") == 1
            assert events.count("case.executed") == CASES
