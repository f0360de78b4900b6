"""Deleting in small batches: only what is to go, in any number of interrupted tries, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, insert, select, text

from proctor_contracts.ids import new_id
from proctor_store.repositories import pipeline, retention, retention_rows, runs
from proctor_store.repositories.retention_rows import Batch
from proctor_store.session import Database, Unit
from proctor_store.tables import (
    Alert,
    AlertDelivery,
    OutboxDeadRow,
    ResultPhase,
    Run,
    RunCase,
    RunEventRow,
    RunLook,
    Schedule,
    ScheduleTick,
    TestResult,
)
from tests.store.rows import AT, BOTH, POSTGRESQL_ONLY, new_run, opened
from tests.store.test_retention import CUTOFFS, NOW, comparison, emptied_first, look

OF_RUNS: tuple[Any, ...] = (RunCase, RunEventRow, TestResult, ResultPhase)
DAY = timedelta(days=1)


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(request, tmp_path) as database:
        await emptied_first(database)
        yield database


async def whole_run(unit: Unit, cases: int = 7, **more: Any) -> UUID:
    """A run with two phases a result and an event a case."""
    run = await new_run(unit, cases=cases, status="completed", completed_at=AT, **more)
    results = (await unit.connection.execute(select(TestResult.id).where(TestResult.run_id == run))).scalars()
    phases: list[dict[str, Any]] = [
        {"result_id": one, "attempt": 1, "phase": phase, "run_id": run, "payload": {}}
        for one in results
        for phase in ("executed", "judged")
    ]
    await unit.connection.execute(insert(ResultPhase), phases)
    events = [{"run_id": run, "seq": n + 1, "event": "e", "data": {}, "at": AT} for n in range(cases)]
    await unit.connection.execute(insert(RunEventRow), events)
    return run


async def held(unit: Unit, run: UUID) -> dict[str, int | None]:
    """How many rows there are of a run, by table."""
    return {
        table.__tablename__: await unit.connection.scalar(
            select(func.count()).select_from(table).where(table.run_id == run)
        )
        for table in OF_RUNS
    }


async def emptied(database: Database, run: UUID, *, limit: int, stop_after: int | None = None) -> int:
    """Delete a run's rows in transactions of their own; returns how many that took."""
    done = 0
    steps: tuple[Any, ...] = (
        retention_rows.remove_results, retention_rows.remove_events, retention_rows.remove_cases
    )  # fmt: skip
    for step in steps:
        batch = Batch({}, more=True)
        while batch.more:
            if done == stop_after:
                return done
            async with database.transaction() as unit:
                batch = await step(unit, run, after=batch.last, limit=limit)
                assert all(count <= 2 * limit for count in batch.rows.values())
            done += 1
    return done


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
async def test_a_run_goes_in_batches_and_leaves_its_neighbour_whole(database: Database, limit: int) -> None:
    async with database.transaction() as unit:
        mine, other = await whole_run(unit), await whole_run(unit)
        before = await held(unit, other)
        await retention.mark(unit, mine, CUTOFFS, now=NOW)
    await emptied(database, mine, limit=limit)
    async with database.transaction() as unit:
        assert set((await held(unit, mine)).values()) == {0}
        assert (await retention_rows.remove_run(unit, mine)).rows["test_runs"] == 1
        assert (await retention_rows.remove_run(unit, mine)).rows["test_runs"] == 0
        assert await held(unit, other) == before
        assert before == {"run_cases": 7, "run_events": 7, "test_results": 7, "result_phases": 14}
        assert list((await unit.connection.execute(select(Run.id))).scalars()) == [other]


@pytest.mark.parametrize("stop_after", range(9))
async def test_what_is_interrupted_goes_on_the_next_time(database: Database, stop_after: int) -> None:
    async with database.transaction() as unit:
        mine = await whole_run(unit)
        await retention.mark(unit, mine, CUTOFFS, now=NOW)
    assert await emptied(database, mine, limit=3, stop_after=stop_after) == stop_after
    await emptied(database, mine, limit=3)
    async with database.transaction() as unit:
        assert set((await held(unit, mine)).values()) == {0}


async def test_a_run_that_is_not_marked_is_never_deleted(database: Database) -> None:
    async with database.transaction() as unit:
        mine = await whole_run(unit)
        assert (await retention_rows.remove_run(unit, mine)).rows["test_runs"] == 0
        assert await unit.connection.scalar(select(Run.id)) == mine


async def test_marked_runs_are_deleted_only_a_while_later(database: Database) -> None:
    async with database.transaction() as unit:
        await whole_run(unit)
        mine = await whole_run(unit)
        await retention.mark(unit, mine, CUTOFFS, now=NOW)
        assert await retention_rows.marked(unit, before=NOW, limit=9) == []
        (one,) = await retention_rows.marked(unit, before=NOW + DAY, limit=9)
        assert (one.id, one.status) == (mine, "completed")


async def test_a_look_and_a_forgotten_comparison_go_with_the_run(database: Database) -> None:
    async with database.transaction() as unit:
        mine = await whole_run(unit)
        await look(unit, mine, "settled")
        # Hidden by its user, not by age: the comparison is still there.
        await comparison(unit, [mine])
        await runs.hide(unit, mine, now=NOW)
    await emptied(database, mine, limit=100)
    async with database.transaction() as unit:
        rows = (await retention_rows.remove_run(unit, mine)).rows
        assert rows == {"test_runs": 1, "compare_runs": 1}
        assert await unit.connection.scalar(select(func.count()).select_from(RunLook)) == 0


async def alert(unit: Unit, run: Any, *, age: float, states: tuple[str, ...] = ()) -> UUID:
    own = {"account_id": run["account_id"], "integration_id": run["integration_id"]}
    made = NOW - age * DAY
    occasion = {"run_id": new_id(), "kind": "regression", "occasion": "run"}
    values = {"id": new_id(), **occasion, "payload": {}, "created_at": made}
    await unit.connection.execute(insert(Alert), [values | own])
    for state in states:
        delivery = {"id": new_id(), "alert_id": values["id"], "source": "environment", "target": "t"}
        rest = {"format": "json", "body": "{}", "state": state, "created_at": made, "updated_at": made}
        await unit.connection.execute(insert(AlertDelivery), [delivery | rest | own])
    return UUID(str(values["id"]))


async def a_run(unit: Unit) -> Any:
    run = await whole_run(unit, cases=1)
    return (await unit.connection.execute(select(Run).where(Run.id == run))).mappings().one()


async def test_old_alerts_go_with_their_deliveries_unless_one_is_still_to_be_made(
    database: Database,
) -> None:
    async with database.transaction() as unit:
        run = await a_run(unit)
        await alert(unit, run, age=91, states=("delivered", "failed"))
        await alert(unit, run, age=92)
        kept = {
            await alert(unit, run, age=99, states=("delivered", "pending")),
            await alert(unit, run, age=89, states=("delivered",)),
        }
        before = NOW - 90 * DAY
        assert await retention_rows.remove_alerts(unit, before=before, limit=1) == Batch(
            {"alerts": 1}, more=True
        )
        assert await retention_rows.remove_alerts(unit, before=before, limit=5) == Batch({"alerts": 1})
        assert set((await unit.connection.execute(select(Alert.id))).scalars()) == kept
        assert await unit.connection.scalar(select(func.count()).select_from(AlertDelivery)) == 3


async def test_old_looks_go_once_they_are_settled(database: Database) -> None:
    async with database.transaction() as unit:
        runs = {name: await whole_run(unit, cases=1) for name in ("old", "asked", "new")}
        await look(unit, runs["old"], "settled", updated_at=AT)
        await look(unit, runs["asked"], "asked", updated_at=AT)
        await look(unit, runs["new"], "settled", updated_at=NOW)
        assert (await retention_rows.remove_looks(unit, before=NOW, limit=9)).rows == {"run_looks": 1}
        left = set((await unit.connection.execute(select(RunLook.run_id))).scalars())
        assert left == {runs["asked"], runs["new"]}


async def test_old_ticks_go_unless_they_may_still_start_a_run(database: Database) -> None:
    async with database.transaction() as unit:
        run = await a_run(unit)
        moment = {"created_at": AT, "updated_at": AT, "counted_from": AT}
        own = {"account_id": run["account_id"], "integration_id": run["integration_id"]}
        schedule = {"id": new_id(), "name": "s", "cron_expression": "@daily", "timezone": "UTC", "mode": {}}
        await unit.connection.execute(
            insert(Schedule), [schedule | {"notifications": {}, "is_active": True} | own | moment]
        )
        for n, status in enumerate(("started", "missed", "refused", "waiting", "fired", "started")):
            planned = AT + n * DAY
            # The last one caught up with a time long gone: its record is new.
            decided = NOW if n == 5 else planned
            tick = {"id": new_id(), "account_id": run["account_id"], "schedule_id": schedule["id"]}
            rest = {"planned_at": planned, "planned_local": "", "status": status, "created_at": decided}
            await unit.connection.execute(insert(ScheduleTick), [tick | rest])
        done = await retention_rows.remove_ticks(unit, before=NOW, limit=9)
        assert done.rows == {"schedule_ticks": 3}
        rows = await unit.connection.execute(select(ScheduleTick.status).order_by(ScheduleTick.planned_at))
        assert list(rows.scalars()) == ["waiting", "fired", "started"]


async def test_messages_that_never_left_go_once_their_run_is_gone(database: Database) -> None:
    async with database.transaction() as unit:
        run = await a_run(unit)
        for name, run_id, at in (
            ("orphan", new_id(), AT), ("of no run", None, AT), ("of a run", run["id"], AT), ("new", None, NOW)
        ):  # fmt: skip
            row = {
                "run_id": run_id,
                "exchange": "x",
                "key": "k",
                "message_id": name,
                "body": "",
                "reason": "",
            }
            await unit.connection.execute(insert(OutboxDeadRow), [row | {"created_at": at}])
        assert (await retention_rows.remove_dead(unit, before=NOW, limit=9)).rows == {"outbox_dead": 2}
        left = await unit.connection.execute(select(OutboxDeadRow.message_id).order_by(OutboxDeadRow.id))
        assert list(left.scalars()) == ["of a run", "new"]


@POSTGRESQL_ONLY
async def test_deleting_waits_for_no_live_run_nor_for_its_account(database: Database) -> None:
    async with database.transaction() as unit:
        old = await whole_run(unit)
        account = (await unit.connection.execute(select(Run.account_id))).scalar_one()
        live = await new_run(unit, cases=3, account_id=account)
    async with database.transaction() as collector:
        # As long as a batch of results takes, and longer.
        await pipeline.lock_accounts(collector, [account])
        assert live in await pipeline.lock_runs(collector, [live])
        async with asyncio.timeout(10):
            async with database.transaction() as unit:
                assert await retention.mark(unit, old, CUTOFFS, now=NOW)
            await emptied(database, old, limit=2)
            async with database.transaction() as unit:
                await retention_rows.remove_run(unit, old)
                # And the other way round: what is not yet committed here holds up nobody there.
                assert await pipeline.bump_run(collector, live, add={"remaining": -1}, put={}) == 2


FILL = (
    """
    INSERT INTO test_runs (id, account_id, integration_id, status, trigger, mode, provider,
        agent_prompt_snapshot, prompt_overridden, settings, tags, warnings, "window", total, remaining,
        next_ordinal, in_flight, judging, passed, failed, error, cancelled, flaky, reserved_micro, cost_micro,
        unknown_costs, event_seq, agent_models, judge_models, created_at, completed_at)
    SELECT gen_random_uuid(), account_id, integration_id, CASE WHEN n % 50 = 0 THEN 'cancelled'
        ELSE 'completed' END, trigger, mode, provider, '', false, settings, tags, warnings, 50, 20, 0, 0, 0,
        0, 20, 0, 0, 0, 0, 0, 0, 0, 20, agent_models, judge_models, created_at,
        created_at + n * interval '1 hour'
    FROM test_runs, generate_series(1, 5000) n""",
    """
    INSERT INTO run_cases SELECT r.id, c.case_id, NULL, c.name, c.category, c.priority, 1, false, c.tags,
        c.snapshot, c.search_text
    FROM test_runs r, run_cases c WHERE r.event_seq = 20""",
    """
    INSERT INTO test_results (id, account_id, run_id, case_id, trial, ordinal, status, stage, attempt,
        history, flaky, needs_review, cost_micro, reserved_micro, losses)
    SELECT gen_random_uuid(), account_id, id, gen_random_uuid(), 1, n, 'passed', 'done', 1, '[]', false,
        false, 0, 0, 0
    FROM test_runs, generate_series(0, 19) n WHERE event_seq = 20""",
    "INSERT INTO result_phases SELECT id, 1, 'executed', run_id, '{}' FROM test_results WHERE stage = 'done'",
    """
    INSERT INTO run_events SELECT id, n, 'e', '{}', created_at FROM test_runs, generate_series(1, 20) n
    WHERE event_seq = 20""",
    "ANALYZE",
)
SCANNED = """
    SELECT relname, seq_tup_read FROM pg_stat_user_tables
    WHERE relname IN ('test_runs', 'run_cases', 'test_results', 'result_phases', 'run_events')"""


@POSTGRESQL_ONLY
async def test_no_table_is_read_from_end_to_end(database: Database) -> None:
    async with database.transaction() as unit:
        await new_run(unit, cases=1, status="running")
        for statement in FILL:
            await unit.connection.execute(text(statement))

    async def scanned() -> dict[str, int]:
        async with database.transaction() as unit:
            await unit.connection.execute(text("SELECT pg_stat_force_next_flush()"))
        async with database.transaction() as unit:
            return {row.relname: row.seq_tup_read for row in await unit.connection.execute(text(SCANNED))}

    before = await scanned()
    async with database.transaction() as unit:
        query = select(func.count()).select_from(TestResult)
        assert (await unit.connection.execute(query)).scalar_one() > 100_000
    counted = await scanned()
    assert counted["test_results"] > before["test_results"]  # the measure sees a scan
    for status in ("completed", "cancelled"):
        async with database.transaction() as unit:
            found = await retention.overdue(unit, status, CUTOFFS, now=NOW, after=None, limit=5)
            assert len(found) == 5
            await retention.oldest(unit, CUTOFFS, now=NOW)
            more = await retention.overdue(unit, status, CUTOFFS, now=NOW, after=found[-1].place, limit=5)
            assert len(more) == 5
            assert await retention.mark(unit, found[0].id, CUTOFFS, now=NOW)
            assert len(await retention_rows.marked(unit, before=NOW + DAY, limit=5)) >= 1
        await emptied(database, found[0].id, limit=7)
        async with database.transaction() as unit:
            assert (await retention_rows.remove_run(unit, found[0].id)).rows["test_runs"] == 1
            await retention_rows.remove_dead(unit, before=NOW, limit=5)
    assert await scanned() == counted
