"""Comparisons that go on until they are decided, embedded; and once with two replicas on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor_api.errors import ApiError
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.bus.rabbit import RabbitBus
from proctor_contracts.messages import CaseRequested
from proctor_contracts.schemas.agents import VersionCreate
from proctor_contracts.schemas.compare import CompareCreate, CompareDetail
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database
from tests.support.platform import Platform, case, open_platform

CASES = 10
GOOD, BAD = "Будь чемним.", "Поспішай."


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    bus = InProcessBus()
    async with open_platform(database, bus, alone=True) as platform:
        yield platform
        await bus.stop(grace_seconds=0)
    await database.close()


async def asked(platform: Platform, cells: int = 2, **more: Any) -> tuple[UUID, CompareCreate]:
    """An agent of ten cases, and the body of a comparison of its good prompt with as many others."""
    integration, _ = await platform.cases(*(case(f"К{number}") for number in range(CASES)))
    agent = await platform.services.agents.of(platform.caller, integration)
    versions = [agent.current_version_id]
    for number in range(1, cells):
        body = VersionCreate(prompt=f"{BAD} {number}")
        made = await platform.services.versions.create(platform.caller, agent.id, body)
        versions.append(made.id)
    matrix = [{"promptVersionId": str(version)} for version in versions]
    return agent.id, CompareCreate.model_validate({"matrix": matrix} | more)


async def started(platform: Platform, **more: Any) -> UUID:
    agent, body = await asked(platform, **more)
    view, _ = await platform.services.compares.start(platform.caller, agent, body)
    return view.id


async def seen(platform: Platform, compare: UUID) -> CompareDetail:
    return await platform.services.compares.detail(platform.caller, compare, take=200, skip=0)


async def over(platform: Platform, compare: UUID) -> CompareDetail:
    return await platform.eventually(
        lambda: seen(platform, compare), lambda found: found.completed_at is not None
    )


async def played(platform: Platform, compare: UUID) -> list[int]:
    """The results of each of the comparison's runs, in the order they were made."""
    rows = await platform.rows("SELECT id, total, compare_run_id FROM test_runs ORDER BY id")
    mine = {compare.hex, str(compare)}
    return [row.total for row in rows if str(row.compare_run_id) in mine]


def bad_fails(job: CaseRequested) -> str:
    return "fail" if job.agent.prompt.startswith(BAD) else "pass"


async def test_it_stops_once_the_difference_is_clear(platform: Platform) -> None:
    platform.runner.play = bad_fails
    compare = await started(platform, untilDecided={"maxTrials": 160})
    found = await over(platform, compare)
    (standing,) = found.standings
    assert (standing.cell, standing.verdict, standing.trials, standing.pairs) == (1, "worse", 10, 10)
    assert standing.difference == -1
    assert standing.evidence > 20
    assert standing.summary.startswith("worse by 100 points after 10 pairs")
    assert (found.status, found.pairs) == ("completed", ())
    assert await played(platform, compare) == [10, 10]


async def test_it_goes_on_while_it_is_open_and_stops_when_no_such_difference_is_left(
    platform: Platform,
) -> None:
    compare = await started(platform, untilDecided={"maxTrials": 160, "minDetectable": 0.3})
    found = await over(platform, compare)
    (standing,) = found.standings
    assert standing.verdict == "no_difference"
    assert 10 < standing.trials < 160
    assert -0.3 < standing.interval[0] < standing.interval[1] < 0.3
    assert await played(platform, compare) == [10] * (2 * standing.trials // 10)
    assert {cell.trials for row in found.rows for cell in row.cells} == {standing.trials // 10}


async def test_its_limit_ends_it_undecided_in_the_middle_of_a_round(platform: Platform) -> None:
    compare = await started(platform, untilDecided={"maxTrials": 25})
    (standing,) = (await over(platform, compare)).standings
    assert (standing.verdict, standing.trials) == ("undecided", 25)
    assert await played(platform, compare) == [10, 10, 10, 10, 5, 5]


async def test_only_cells_that_are_open_are_played_further(platform: Platform) -> None:
    platform.runner.play = lambda job: "fail" if job.agent.prompt == f"{BAD} 1" else "pass"
    compare = await started(platform, cells=3, untilDecided={"maxTrials": 20})
    found = await over(platform, compare)
    assert [(one.cell, one.verdict, one.trials) for one in found.standings] == [
        (1, "worse", 10),
        (2, "undecided", 20),
    ]
    assert [len(cell.run_ids) for cell in found.cells] == [2, 1, 2]


async def test_its_budget_ends_it_and_is_never_passed(platform: Platform) -> None:
    compare = await started(platform, budgetCents=40, untilDecided={"maxTrials": 1000})
    (standing,) = (await over(platform, compare)).standings
    # Twenty cents a cell at a cent a case, of which the last one could have cost more than was left.
    assert (standing.verdict, standing.pairs) == ("undecided", 19)
    rows = await platform.rows("SELECT sum(cost_micro) AS spent FROM test_runs")
    assert rows[0].spent == 2 * 19 * 10_000


async def test_a_cell_in_which_everything_errs_ends_it(platform: Platform) -> None:
    platform.runner.play = lambda job: "provider_down" if job.agent.prompt.startswith(BAD) else "pass"
    compare = await started(platform, untilDecided={"maxTrials": 160})
    (standing,) = (await over(platform, compare)).standings
    assert (standing.verdict, standing.trials, standing.pairs) == ("undecided", 10, 0)


async def test_cancelling_it_starts_nothing_more(platform: Platform) -> None:
    platform.runner.holding = True
    compare = await started(platform, untilDecided={"maxTrials": 160})
    await platform.runner.holds(2 * CASES)
    cancelled = await platform.services.compares.cancel(platform.caller, compare)
    platform.runner.release()
    assert cancelled.status == "cancelled"
    assert await platform.services.rounds.advance(platform.caller.account_id, compare) == 0
    found = await over(platform, compare)
    assert (found.status, [one.verdict for one in found.standings]) == ("cancelled", ["undecided"])
    assert await played(platform, compare) == [10, 10]


@pytest.mark.parametrize("more", [{"repeats": 2}, {"weather": ["timeout"], "runner": "gateway"}])
async def test_trials_are_its_own_to_choose(platform: Platform, more: dict[str, Any]) -> None:
    agent, body = await asked(platform, untilDecided={"maxTrials": 20}, **more)
    with pytest.raises(ApiError) as refused:
        await platform.services.compares.start(platform.caller, agent, body)
    assert [error.path for error in refused.value.errors] == [next(iter(more))]


@pytest.mark.real
async def test_two_replicas_that_hear_of_the_same_end_start_one_round(
    database_url: str, amqp_url: str
) -> None:
    one, two = (Database(create_engine(database_url)) for _ in range(2))
    await upgrade_database(one)
    bus, other, workers = (RabbitBus(amqp_url, name=name) for name in ("one", "two", "workers"))
    async with (
        open_platform(one, bus, workers=workers, alone=False) as first,
        open_platform(two, other, alone=False, works=False) as second,
    ):
        second.caller = first.caller
        compare = await started(first, untilDecided={"maxTrials": 60})
        account = first.caller.account_id

        async def look() -> CompareDetail:
            # Both look as often as they can, beside what the bus tells them.
            await asyncio.gather(
                *(one.services.rounds.advance(account, compare) for one in (first, second) * 2)
            )
            return await seen(first, compare)

        found = await first.eventually(look, lambda detail: detail.completed_at is not None)
        assert [(one.verdict, one.trials) for one in found.standings] == [("undecided", 60)]
        assert await played(first, compare) == [10] * 12
        for each in (workers, bus, other):
            await each.stop(grace_seconds=0)
    for database in (one, two):
        await database.close()
