"""What the collector reads and writes, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from proctor_contracts.enums import Phase
from proctor_contracts.ids import new_id
from proctor_store.repositories import claims, events, pipeline, runs
from proctor_store.repositories.pipeline import NewPhase
from proctor_store.session import Database
from tests.store.rows import AT, BOTH, new_run, opened


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(request, tmp_path) as database:
        yield database


async def test_more_ids_than_one_statement_takes_are_read_in_parts(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit, cases=3)
        rows = await pipeline.waiting_results(unit, run, from_ordinal=0, limit=10)
        wanted = [row.id for row in rows] + [UUID(int=n) for n in range(40_000)]
        assert set(await pipeline.results_by_id(unit, wanted)) == {row.id for row in rows}
        assert await pipeline.executed_payloads(unit, [(one, 1) for one in wanted]) == {}


async def test_only_the_first_report_of_a_phase_is_kept(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit)
        [row] = await pipeline.waiting_results(unit, run, from_ordinal=0, limit=1)
        first = NewPhase(row.id, 1, Phase.EXECUTED, run, '{"n": 1}')
        second = NewPhase(row.id, 1, Phase.EXECUTED, run, '{"n": 2}')
        await pipeline.insert_phases(unit, [first])
        await pipeline.insert_phases(unit, [second])
        await pipeline.insert_phases(unit, [])
        assert await pipeline.executed_payloads(unit, [(row.id, 1), (row.id, 2)]) == {(row.id, 1): {"n": 1}}


async def test_waiting_results_come_in_order_and_retries_before_later_ones(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit, cases=5)
        rows = await pipeline.waiting_results(unit, run, from_ordinal=0, limit=3)
        assert [row.ordinal for row in rows] == [0, 1, 2]
        away = [{"id": row.id, "stage": "executing", "attempt": 1} for row in rows]
        await pipeline.save_results(unit, away)
        back = {"id": rows[1].id, "stage": "waiting", "history": [["failed", 0]]}
        await pipeline.save_results(unit, [back])
        found = await pipeline.waiting_results(unit, run, from_ordinal=1, limit=2)
        assert [(row.ordinal, row.attempt) for row in found] == [(1, 1), (3, 0)]
        assert found[0].snapshot == {"n": 1}
        assert await pipeline.waiting_retries(unit, run) == [rows[1].id]
        # Only those that were never out are ended as never sent.
        assert await pipeline.end_waiting(unit, run, error={"code": "x"}, now=AT) == 2


async def test_changes_with_different_columns_are_all_written(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit, cases=3)
        one, two, three = await pipeline.waiting_results(unit, run, from_ordinal=0, limit=3)
        await pipeline.save_results(
            unit,
            [
                {"id": one.id, "status": "passed", "score_min": 1},
                {"id": two.id, "error": {"code": "x"}},
                {"id": three.id, "status": "failed", "score_min": 2},
            ],
        )
        found = await pipeline.results_by_id(unit, [one.id, two.id, three.id])
        assert [found[row.id].status for row in (one, two, three)] == ["passed", "pending", "failed"]
        await pipeline.save_results(unit, [])


async def test_counters_change_by_arithmetic_and_a_run_ends_once(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit, cases=2)
        assert await pipeline.bump_run(unit, run, add={"remaining": -1, "passed": 1}, put={}) == 1
        ended = {"status": "completed", "completed_at": AT}
        assert not await pipeline.finish_run(unit, run, values=ended)
        assert await pipeline.settings_of(unit, [run, new_id()]) == {run: {}}
        assert await pipeline.bump_run(unit, run, add={"remaining": -1}, put={"next_ordinal": 2}) == 0
        assert await pipeline.bump_run(unit, run, add={}, put={}) == 0
        assert await pipeline.finish_run(unit, run, values=ended)
        assert not await pipeline.finish_run(unit, run, values=ended)
        assert await pipeline.settings_of(unit, [run]) == {}
        assert run not in await pipeline.live_runs(unit)


async def test_an_accounts_runs_that_still_let_cases_out_are_found_with_what_is_in_flight(
    database: Database,
) -> None:
    async with database.transaction() as unit:
        first = await new_run(unit, cases=2, in_flight=1)
        account = (await pipeline.owners(unit, [first, new_id()]))[first]
        second = await new_run(unit, cases=2, account_id=account, in_flight=2, next_ordinal=2)
        await new_run(unit, cases=2, account_id=account, in_flight=4, status="cancelled")
        await new_run(unit, cases=2, in_flight=8)
        assert await pipeline.running_runs(unit, [account]) == {first}
        assert await pipeline.in_flight_by_account(unit, [account]) == {account: 3}
        assert set(await pipeline.lock_runs(unit, [second, first, new_id()])) == {first, second}
        assert await pipeline.lock_accounts(unit, []) == {}


async def test_a_charge_reaches_only_limited_balances(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit)
        account = (await pipeline.owners(unit, [run]))[run]
        await pipeline.charge(unit, account, 5)
        assert (await pipeline.lock_accounts(unit, [account]))[account].balance_micro is None


async def test_cancelling_ends_what_is_open_and_keeps_what_is_done(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit, cases=3)
        rows = await pipeline.waiting_results(unit, run, from_ordinal=0, limit=2)
        await pipeline.save_results(unit, [{"id": rows[0].id, "stage": "done", "status": "passed"}])
        await pipeline.save_results(unit, [{"id": rows[1].id, "stage": "judging", "dispatched_at": AT}])
        out = await pipeline.out_before(unit, AT + timedelta(seconds=1), limit=10_000)
        assert rows[1].id in {row.id for row in out}
        assert await runs.cancel_open_results(unit, run, now=AT) == 2
        found = await pipeline.results_by_id(unit, [row.id for row in rows])
        assert [found[row.id].status for row in rows] == ["passed", "cancelled"]
        out = await pipeline.out_before(unit, AT + timedelta(seconds=1), limit=10_000)
        assert rows[1].id not in {row.id for row in out}


async def test_snapshots_keep_their_order_and_can_be_chosen_by_status(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit, cases=4)
        rows = await pipeline.waiting_results(unit, run, from_ordinal=0, limit=4)
        await pipeline.save_results(unit, [{"id": rows[n].id, "status": "failed"} for n in (3, 1)])
        every = await runs.snapshots(unit, run, await runs.rerun_ids(unit, run, statuses=None))
        assert [snapshot["n"] for snapshot, _ in every] == [0, 1, 2, 3]
        failed = await runs.snapshots(unit, run, await runs.rerun_ids(unit, run, statuses=["failed"]))
        assert [(snapshot["n"], text) for snapshot, text in failed] == [
            (1, "case 1 рамосу"),
            (3, "case 3 рамосу"),
        ]


async def test_events_are_read_behind_a_number_in_order(database: Database) -> None:
    async with database.transaction() as unit:
        run = await new_run(unit)
        assert not await events.after(unit, run, 0, limit=10)
        new = [events.NewEvent(run, seq, "case.executed", {"n": seq}) for seq in (1, 2, 3)]
        await events.append(unit, new, now=AT)
        await events.append(unit, [], now=AT)
        found = await events.after(unit, run, 1, limit=1)
        assert [(event.seq, event.data, event.at) for event in found] == [(2, {"n": 2}, AT)]
        assert [event.seq for event in await events.after(unit, run, 0, limit=10)] == [1, 2, 3]


async def test_one_owner_has_a_claim_until_it_runs_out(database: Database) -> None:
    lease = timedelta(seconds=30)
    name = str(new_id())[:32]
    answers = []
    for owner, seconds in (("a", 0), ("b", 10), ("a", 20), ("b", 49), ("b", 50), ("a", 51)):
        async with database.transaction() as unit:
            now = AT + timedelta(seconds=seconds)
            answers.append(await claims.claim(unit, name, owner=owner, now=now, lease=lease))
    assert answers == [True, False, True, False, True, False]
