"""Which runs are past their time, and what marking one does, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, select, text, update

from proctor_contracts.ids import new_id
from proctor_store.repositories import compares, pipeline, retention, runs
from proctor_store.repositories.retention import Cutoffs, Place
from proctor_store.session import Database, Unit
from proctor_store.tables import CompareRun, Run, RunLook, TestAgent
from tests.store.rows import AT, BOTH, POSTGRESQL_ONLY, new_run, opened

DAY = timedelta(days=1)
NOW = AT + 100 * DAY
CUTOFFS = Cutoffs(ended=NOW - 30 * DAY, cancelled=NOW - DAY)


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(request, tmp_path) as database:
        await emptied_first(database)
        yield database


async def emptied_first(database: Database) -> None:
    """Forget what earlier tests of the module left: retention looks at all accounts."""
    if database.dialect == "postgresql":
        async with database.transaction() as unit:
            await unit.connection.execute(text("TRUNCATE accounts, outbox_dead CASCADE"))


async def run(unit: Unit, status: str = "completed", *, age: float = 31, **more: Any) -> UUID:
    """A run that ended so many days ago."""
    return await new_run(unit, status=status, completed_at=NOW - age * DAY, **more)


async def look(unit: Unit, run_id: UUID, state: str, **more: Any) -> None:
    row = (await unit.connection.execute(select(Run).where(Run.id == run_id))).mappings().one()
    values = {
        "run_id": run_id,
        "account_id": row["account_id"],
        "integration_id": row["integration_id"],
        "state": state,
        "findings": {},
        "baseline_run_ids": [],
        "model_changes": [],
        "confirm": [],
        "created_at": AT,
        "updated_at": AT,
    }
    await unit.connection.execute(insert(RunLook), [values | more])


async def comparison(unit: Unit, runs: Sequence[UUID]) -> UUID:
    """A comparison whose cells are these runs."""
    row = (await unit.connection.execute(select(Run).where(Run.id == runs[0]))).mappings().one()
    own = {"account_id": row["account_id"], "integration_id": row["integration_id"]}
    agent, compare, moment = new_id(), new_id(), {"created_at": AT, "updated_at": AT}
    await unit.connection.execute(insert(TestAgent), [{"id": agent, "name": str(agent), **own, **moment}])
    values = {"matrix": [], "case_ids": [], "settings": {}, "warnings": [], "run_ids": [str(r) for r in runs]}
    fixed = {"id": compare, "agent_id": agent, "status": "running", "baseline": 0}
    await unit.connection.execute(insert(CompareRun), [fixed | values | own | moment])
    await unit.connection.execute(update(Run).where(Run.id.in_(runs)).values(compare_run_id=compare))
    return compare


async def overdue(
    unit: Unit, status: str = "completed", *, cutoffs: Cutoffs = CUTOFFS, after: Place | None = None
) -> list[UUID]:
    found = await retention.overdue(unit, status, cutoffs, now=NOW, after=after, limit=10)
    return [one.id for one in found]


async def all_overdue(unit: Unit, cutoffs: Cutoffs = CUTOFFS) -> set[UUID]:
    return {run for status, _ in cutoffs.by_status() for run in await overdue(unit, status, cutoffs=cutoffs)}


async def test_a_runs_time_depends_on_how_it_ended(database: Database) -> None:
    async with database.transaction() as unit:
        gone = {
            await run(unit, "completed", age=31),
            await run(unit, "failed", age=30.5),
            await run(unit, "cancelled", age=1.5),
        }
        for status, age in (("completed", 29.0), ("failed", 1.5), ("cancelled", 0.5)):
            await run(unit, status, age=age)
        for status in ("pending", "running"):
            # A moment of its end makes no run final.
            await run(unit, status, age=99)
        assert await all_overdue(unit) == gone


async def test_what_is_kept_for_ever_is_never_past_its_time(database: Database) -> None:
    async with database.transaction() as unit:
        await run(unit, "completed", age=99)
        cancelled = await run(unit, "cancelled", age=99)
        assert await all_overdue(unit, Cutoffs(ended=None, cancelled=NOW)) == {cancelled}
        assert await all_overdue(unit, Cutoffs(ended=None, cancelled=None)) == set()
        assert not await retention.mark(unit, cancelled, Cutoffs(ended=NOW, cancelled=None), now=NOW)


async def test_runs_come_oldest_first_and_a_walk_goes_past_those_that_stay(database: Database) -> None:
    async with database.transaction() as unit:
        ages = [35, 34, 33, 33, 32]
        ids = [await run(unit, age=age) for age in ages]
        first = await retention.overdue(unit, "completed", CUTOFFS, now=NOW, after=None, limit=3)
        assert [one.id for one in first] == ids[:3]
        assert await overdue(unit, after=first[-1].place) == ids[3:]


async def test_the_age_of_what_is_late_is_told(database: Database) -> None:
    async with database.transaction() as unit:
        await run(unit, "completed", age=29)
        assert await retention.oldest(unit, CUTOFFS, now=NOW) == NOW
        await run(unit, "completed", age=32)
        await run(unit, "cancelled", age=1.5)
        assert await retention.oldest(unit, CUTOFFS, now=NOW) == NOW - 2 * DAY
        await run(unit, "cancelled", age=4)
        assert await retention.oldest(unit, CUTOFFS, now=NOW) == NOW - 3 * DAY


async def test_an_export_that_failed_is_left_alone_until_it_is_tried_again(database: Database) -> None:
    async with database.transaction() as unit:
        mine = await run(unit)
        await retention.put_off(unit, mine, failures=2, until=NOW + DAY)
        assert await overdue(unit) == []
        (again,) = await retention.overdue(unit, "completed", CUTOFFS, now=NOW + DAY, after=None, limit=9)
        assert (again.id, again.export_failures) == (mine, 2)


@pytest.mark.parametrize("field", ["rerun_of", "confirms_run_id"])
@pytest.mark.parametrize(("status", "waits"), [("running", True), ("pending", True), ("completed", False)])
async def test_a_run_that_a_live_one_goes_back_to_stays(
    database: Database, field: str, status: str, *, waits: bool
) -> None:
    async with database.transaction() as unit:
        mine = await run(unit)
        back: dict[str, Any] = {field: mine}
        await new_run(unit, status=status, **back)
        assert (mine in await retention.in_use(unit)) is waits
        assert await retention.mark(unit, mine, CUTOFFS, now=NOW) is not waits


@pytest.mark.parametrize(("state", "waits"), [("asked", True), ("refused", True), ("settled", False)])
async def test_runs_that_an_open_look_reads_stay(database: Database, state: str, *, waits: bool) -> None:
    async with database.transaction() as unit:
        looked, confirming, baseline, other = [await run(unit) for _ in range(4)]
        await look(unit, looked, state, confirming_run_id=confirming, baseline_run_ids=[str(baseline)])
        used = await retention.in_use(unit)
        assert used == (frozenset({looked, confirming, baseline}) if waits else frozenset())
        for one in (looked, confirming, baseline):
            assert await retention.mark(unit, one, CUTOFFS, now=NOW) is not waits
        assert await retention.mark(unit, other, CUTOFFS, now=NOW)


@pytest.mark.parametrize(
    ("status", "age", "waits"),
    [
        ("running", None, True),
        ("completed", 29, True),
        ("cancelled", 0.5, True),
        ("completed", 31, False),
        ("cancelled", 2, False),
    ],
)
async def test_the_runs_of_a_comparison_go_when_the_last_one_may(
    database: Database, status: str, age: float | None, *, waits: bool
) -> None:
    async with database.transaction() as unit:
        mine = await run(unit, age=40)
        ended = None if age is None else NOW - age * DAY
        other = await new_run(unit, status=status, completed_at=ended)
        await comparison(unit, [mine, other])
        assert (mine in await all_overdue(unit)) is not waits
        assert await retention.mark(unit, mine, CUTOFFS, now=NOW) is not waits


async def test_a_marked_run_is_gone_for_everybody_and_marked_once(database: Database) -> None:
    async with database.transaction() as unit:
        mine = await run(unit, idempotency_key="k", idempotency_hash="h", confirms_run_id=new_id())
        row = (await unit.connection.execute(select(Run).where(Run.id == mine))).mappings().one()
        assert await retention.mark(unit, mine, CUTOFFS, now=NOW)
        assert not await retention.mark(unit, mine, CUTOFFS, now=NOW)
        assert await all_overdue(unit) == set()
        assert await retention.oldest(unit, CUTOFFS, now=NOW) == NOW
        account = row["account_id"]
        assert await runs.find(unit, account, mine) is None
        assert await runs.by_idempotency_key(unit, account, "k") is None
        assert await pipeline.lock_runs(unit, [mine]) == {}
        # What was unique of it may be used again.
        await run(unit, account_id=account, idempotency_key="k", confirms_run_id=row["confirms_run_id"])


async def test_a_comparison_goes_with_the_last_of_its_runs(database: Database) -> None:
    async with database.transaction() as unit:
        cells = [await run(unit) for _ in range(3)]
        compare = await comparison(unit, cells)
        account = (await unit.connection.execute(select(CompareRun.account_id))).scalar_one()
        for left in (2, 1, 0):
            assert await retention.mark(unit, cells[left], CUTOFFS, now=NOW)
            assert [row["id"] for row in (await compares.runs_of(unit, [compare]))[compare]] == cells[:left]
            assert (await compares.get(unit, account, compare) is not None) is (left > 0)


@POSTGRESQL_ONLY
async def test_a_run_that_somebody_plays_again_at_this_moment_is_left_alone(database: Database) -> None:
    async with database.transaction() as unit:
        mine = await run(unit)
        account = (await unit.connection.execute(select(Run.account_id))).scalar_one()
    async with database.transaction() as holding:
        assert await runs.find(holding, account, mine, keep=True) is not None
        async with database.transaction() as unit:
            assert not await retention.mark(unit, mine, CUTOFFS, now=NOW)
        again = await new_run(holding, rerun_of=mine)
    async with database.transaction() as unit:
        # What it was held for has begun meanwhile.
        assert not await retention.mark(unit, mine, CUTOFFS, now=NOW)
        ended: dict[str, datetime | str] = {"status": "completed", "completed_at": NOW}
        await unit.connection.execute(update(Run).where(Run.id == again).values(**ended))
        assert await retention.mark(unit, mine, CUTOFFS, now=NOW)
