"""Runs of every mixture of retries, judges, budgets, limits and duplicates: what holds whatever happens."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.enums import RunStatus
from proctor_contracts.schemas.runs import RunView
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database
from tests.api.pipeline.behaviour import gapless, kept, recounted
from tests.support.platform import Platform, case, open_platform

SEEDS = range(16)


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    bus = InProcessBus()
    async with open_platform(database, bus, alone=False) as platform:
        yield platform
        await bus.stop(grace_seconds=0)
    await database.close()


def mixture(chance: random.Random, platform: Platform) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Cases with their scripts, and the body of a run."""
    names = [f"{n}" for n in range(chance.randint(1, 14))]
    platform.runner.script = {
        name: [chance.choice(["pass", "fail", "fail", "down"]) for _ in range(4)] for name in names
    }
    platform.judge.script = {
        name: [chance.choice(["pass", "fail", "unsure", "silent"]) for _ in range(4)] for name in names
    }
    platform.runner.copies = chance.choice([1, 1, 3])
    platform.judge.copies = chance.choice([1, 2])
    platform.runner.cost = chance.choice([10_000, 20_000])
    cases = [
        case(
            name,
            judges=chance.choice([0, 0, 1, 2]),
            retryPolicy=chance.choice(["any", "none", "all"]),
            threshold=chance.choice([50, 70, 100]),
        )
        for name in names
    ]
    body: dict[str, Any] = {
        "concurrency": chance.randint(1, 5),
        "retriesOnFailure": chance.randint(0, 3),
        "repeats": chance.randint(1, 3),
        "judgePolicy": chance.choice(["always", "undecided"]),
    }
    if chance.random() < 0.5:
        body["budgetCents"] = chance.randint(2, 60)
    return cases, body


async def check(platform: Platform, run: RunView) -> None:
    """What is true of every run that is over."""
    row = await platform.run_row(run.id)
    counted = await kept(platform, run.id)
    assert counted == await recounted(platform, run.id)
    assert sum(counted.values()) == row.total
    results = await platform.rows("SELECT * FROM test_results WHERE run_id = :run", run=run.id)
    assert row.cost_micro == sum(result.cost_micro for result in results)
    if row.budget_micro is not None:
        assert row.cost_micro <= row.budget_micro
    assert {result.reserved_micro for result in results} == {0}
    assert {result.stage for result in results} == {"done"}
    # Every attempt was reported once, and none that was not asked for.
    phases = await platform.rows(
        "SELECT result_id, attempt FROM result_phases WHERE run_id = :run AND phase = 'executed'", run=run.id
    )
    attempts = Counter(phase.result_id for phase in phases)
    if row.status != "cancelled":
        assert all(attempts[result.id] == result.attempt for result in results)
    jobs = [job.id() for job in platform.runner.of(run.id)]
    assert len(jobs) == len(set(jobs))
    assert platform.runner.peak[run.id] <= (run.concurrency or 0)
    names = gapless(await platform.events(run.id))[-1:]
    assert names == ["run.completed"]
    stored = await platform.rows(
        "SELECT seq, event FROM run_events WHERE run_id = :run ORDER BY seq", run=run.id
    )
    assert [event.seq for event in stored] == list(range(1, row.event_seq + 1))
    assert [event.event for event in stored].count("run.completed") == 1
    for shown in (await platform.results(run, attempts=True)).values():
        assert shown.attempt_count == len(shown.attempts) or row.status == "cancelled"
        if shown.status.value in {"passed", "failed"}:
            assert all(one.verdict != "pending" for one in shown.assertion_results)


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_the_mixture_a_run_adds_up(platform: Platform, seed: int) -> None:
    chance = random.Random(seed)
    cases, body = mixture(chance, platform)
    run = await platform.start(*cases, **body)
    done = await platform.finished(run)
    assert done.status in {RunStatus.COMPLETED, RunStatus.FAILED}
    await check(platform, done)


@pytest.mark.parametrize("seed", SEEDS)
async def test_wherever_it_is_cancelled_a_run_adds_up(platform: Platform, seed: int) -> None:
    chance = random.Random(1000 + seed)
    cases, body = mixture(chance, platform)
    platform.runner.holding = platform.judge.holding = True
    run = await platform.start(*cases, **body)
    for _ in range(chance.randint(0, 12)):
        for worker in (platform.runner, platform.judge):
            if worker.held:
                worker.release(1)
        if not platform.runner.held and not platform.judge.held:
            break
    await platform.services.runs.cancel(platform.caller, run.id)
    platform.runner.release()
    platform.judge.release()
    done = await platform.finished(run)
    await check(platform, done)


@pytest.mark.parametrize("seed", SEEDS)
async def test_runs_of_one_limited_account_all_end_within_its_limits(platform: Platform, seed: int) -> None:
    chance = random.Random(2000 + seed)
    limit = chance.randint(1, 4)
    await platform.account(max_concurrent=limit)
    cases, body = mixture(chance, platform)
    integration, _ = await platform.cases(*cases)
    runs = [await platform.run(integration, **body) for _ in range(3)]
    if chance.random() < 0.3:
        await platform.services.runs.cancel(platform.caller, runs[1].id)
    for run in runs:
        await check(platform, await platform.finished(run))
    assert platform.runner.account_peak[platform.caller.account_id] <= limit
