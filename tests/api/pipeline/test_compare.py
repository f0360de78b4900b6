"""Comparisons and versions while workers play them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.enums import RunStatus
from proctor_contracts.schemas.agents import AgentView, VersionCreate, VersionView
from proctor_contracts.schemas.compare import CompareCreate, CompareDetail, CompareStatus, PairVerdict
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database
from tests.support.platform import Platform, case, open_platform

NAMES = [f"кейс {n}" for n in range(20)]


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    bus = InProcessBus()
    async with open_platform(database, bus, alone=False) as platform:
        await platform.account()
        yield platform
        await bus.stop(grace_seconds=0)
    await database.close()


async def agent(platform: Platform) -> tuple[UUID, AgentView]:
    integration, _ = await platform.cases(*map(case, NAMES))
    return integration, await platform.services.agents.of(platform.caller, integration)


async def draft(platform: Platform, agent: AgentView, prompt: str) -> VersionView:
    return await platform.services.versions.create(platform.caller, agent.id, VersionCreate(prompt=prompt))


async def compare(platform: Platform, agent: AgentView, *cells: dict[str, Any], **more: Any) -> UUID:
    body = CompareCreate.model_validate({"matrix": cells, **more})
    made, _ = await platform.services.compares.start(platform.caller, agent.id, body)
    return made.id


async def over(platform: Platform, compare_id: UUID) -> CompareDetail:
    """Wait for every cell, then read the comparison whole."""
    found = await detail(platform, compare_id)
    for cell in found.cells:
        await platform.finished(cell.run_id)
    return await detail(platform, compare_id)


async def detail(platform: Platform, compare_id: UUID) -> CompareDetail:
    return await platform.services.compares.detail(platform.caller, compare_id, take=200, skip=0)


async def test_a_worse_version_is_found_and_its_broken_cases_named(platform: Platform) -> None:
    _, found = await agent(platform)
    worse = await draft(platform, found, "Будь грубим.")
    platform.runner.play = lambda job: "fail" if job.agent.prompt == worse.prompt else "pass"
    cells: list[dict[str, Any]] = [{}, {"promptVersionId": worse.id}, {"model": "other"}]
    whole = await over(platform, await compare(platform, found, *cells))
    assert whole.status is CompareStatus.COMPLETED
    assert whole.completed_at is not None
    verdicts = {(pair.a, pair.b): pair.verdict for pair in whole.pairs}
    assert verdicts == {
        (0, 1): PairVerdict.WORSE,
        (0, 2): PairVerdict.NO_EVIDENCE,
        (1, 2): PairVerdict.BETTER,
    }
    assert sorted(whole.pairs[0].broken) == sorted(NAMES)
    assert {job.agent.prompt for job in platform.runner.of(whole.cells[1].run_id)} == {"Будь грубим."}


async def test_a_cell_whose_provider_fails_ends_with_errors_and_stops_no_other(platform: Platform) -> None:
    _, found = await agent(platform)
    platform.runner.play = lambda job: "provider_down" if job.agent.model == "down" else "pass"
    whole = await over(platform, await compare(platform, found, {}, {"model": "down"}, {"model": "other"}))
    runs = [cell.run for cell in whole.cells]
    assert [None if run is None else (run.progress.passed, run.progress.error) for run in runs] == [
        (20, 0), (0, 20), (20, 0),
    ]  # fmt: skip
    assert whole.status is CompareStatus.COMPLETED
    assert [pair.verdict for pair in whole.pairs] == [
        PairVerdict.NOT_COMPARABLE, PairVerdict.NO_EVIDENCE, PairVerdict.NOT_COMPARABLE,
    ]  # fmt: skip


async def test_cancelling_in_the_middle_keeps_what_is_finished_and_sends_nothing_more(
    platform: Platform,
) -> None:
    _, found = await agent(platform)
    platform.runner.holding = True
    compare_id = await compare(platform, found, {}, {"model": "other"}, concurrency=3)
    await platform.runner.holds(6)
    view = await platform.services.compares.cancel(platform.caller, compare_id)
    assert view.status is CompareStatus.CANCELLED
    platform.runner.release()
    whole = await over(platform, compare_id)
    assert {None if cell.run is None else cell.run.status for cell in whole.cells} == {RunStatus.CANCELLED}
    assert len(platform.runner.jobs) == 6
    assert whole.rows_total == 20


async def test_each_cell_stays_within_its_share_of_the_budget(platform: Platform) -> None:
    _, found = await agent(platform)
    # Every case costs at most two cents and one when it is played; a cell has 34 or 33 cents for twenty.
    platform.runner.cost = 20_000
    cells: list[dict[str, Any]] = [{}, {"promptVersionId": (await draft(platform, found, "інакше")).id}]
    whole = await over(platform, await compare(platform, found, *cells, budgetCents=67))
    spent = [(cell.budget_cents, cell.run.progress.cost_cents if cell.run else None) for cell in whole.cells]
    assert spent == [(34, 34), (33, 32)]


async def test_activating_while_a_run_goes_on_changes_nothing_in_it(platform: Platform) -> None:
    integration, found = await agent(platform)
    new = await draft(platform, found, "Нова редакція.")
    platform.runner.holding = True
    run = await platform.run(integration, concurrency=2)
    await platform.runner.holds(2)
    await platform.services.versions.activate(platform.caller, found.id, new.id)
    platform.runner.release()
    done = await platform.finished(run)
    prompts = [job.agent.prompt for job in platform.runner.of(run.id)]
    assert prompts == ["Будь чемним."] * 20
    assert done.agent_prompt_snapshot == "Будь чемним."
    after = await platform.run(integration)
    assert after.agent_prompt_snapshot == "Нова редакція."
