"""What the collector reads and writes of running runs, in batches, under locks taken in id order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, bindparam, func, select, update

from proctor_contracts.enums import Phase
from proctor_store.columns import Written
from proctor_store.inserting import insert_for
from proctor_store.padding import padded
from proctor_store.session import Unit
from proctor_store.tables import Account, ResultPhase, Run, RunCase, TestResult

from .pipeline_rows import (
    LIVE,
    RESULT_COLUMNS,
    RUN_COLUMNS,
    AccountRow,
    NewPhase,
    OutRow,
    ResultRow,
    RunRow,
    WaitingRow,
)

__all__ = [
    "LIVE",
    "AccountRow",
    "NewPhase",
    "OutRow",
    "ResultRow",
    "RunRow",
    "WaitingRow",
    "bump_run",
    "charge",
    "end_waiting",
    "executed_payloads",
    "finish_run",
    "in_flight_by_account",
    "insert_phases",
    "live_runs",
    "lock_accounts",
    "lock_runs",
    "oldest_waiting",
    "out_before",
    "owners",
    "result_of_job",
    "results_by_id",
    "running_runs",
    "save_results",
    "settings_of",
    "waiting_results",
    "waiting_retries",
]


MOST_PARAMETERS = 16_384
"""How many ids go into one statement: SQLite takes 32,766 parameters, PostgreSQL's driver one more."""

# Built once: the collector runs these for every batch, and building a statement costs more than running it.
_LOCK_ACCOUNTS = (
    select(Account.id, Account.balance_micro, Account.max_concurrent_cases, Account.runs_per_minute)
    .where(Account.id.in_(bindparam("ids", expanding=True)))
    .order_by(Account.id)
    # Not FOR UPDATE, which would keep out writers of rows that refer to the account; they hold locks too.
    .with_for_update(key_share=True)
)
_LOCK_RUNS = (
    select(*RUN_COLUMNS)
    .where(Run.id.in_(bindparam("ids", expanding=True)), Run.deleted_at.is_(None))
    .order_by(Run.id)
    .with_for_update(key_share=True)
)
_SAME_CASE = (RunCase.run_id == TestResult.run_id) & (RunCase.case_id == TestResult.case_id)
_RESULTS = (
    select(*RESULT_COLUMNS)
    .join(RunCase, _SAME_CASE)
    .where(TestResult.id.in_(bindparam("ids", expanding=True)))
)
_WAITING = (
    select(
        TestResult.id,
        TestResult.case_id,
        TestResult.trial,
        TestResult.ordinal,
        TestResult.attempt,
        RunCase.snapshot,
    )
    .join(RunCase, _SAME_CASE)
    .where(
        TestResult.run_id == bindparam("run"),
        TestResult.ordinal >= bindparam("from"),
        TestResult.stage == "waiting",
    )
    .order_by(TestResult.ordinal)
    .limit(bindparam("limit"))
)


@cache
def _insert_phases(dialect: str) -> Executable:
    keys = ["result_id", "attempt", "phase"]
    return insert_for(dialect, ResultPhase).on_conflict_do_nothing(index_elements=keys)


@cache
def _save(columns: tuple[str, ...]) -> Executable:
    table = TestResult.__table__
    return (
        update(TestResult)
        .where(TestResult.id == bindparam("row_id", type_=table.c.id.type))
        .values({name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns})
        .execution_options(synchronize_session=False)
    )


@cache
def _bump(add: tuple[str, ...], put: tuple[str, ...]) -> Executable:
    table = Run.__table__
    values: dict[str, Any] = {name: table.c[name] + bindparam(f"add_{name}") for name in add}
    values |= {name: bindparam(f"put_{name}", type_=table.c[name].type) for name in put}
    values = values or {"remaining": table.c.remaining}
    return (
        update(Run)
        .where(Run.id == bindparam("row_id", type_=table.c.id.type))
        .values(values)
        .returning(Run.remaining)
    )


def _batched(ids: Sequence[UUID], size: int) -> Iterator[Sequence[UUID]]:
    """Cut a list into parts that fit into one statement."""
    return (ids[start : start + size] for start in range(0, len(ids), size))


async def lock_accounts(unit: Unit, ids: Iterable[UUID]) -> dict[UUID, AccountRow]:
    """Lock accounts in id order, always before their runs."""
    rows = await unit.connection.execute(_LOCK_ACCOUNTS, {"ids": padded(sorted(set(ids)))})
    return {row[0]: AccountRow(*row) for row in rows}


async def owners(unit: Unit, run_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Find whose runs these are: run id to account id."""
    query = select(Run.id, Run.account_id).where(Run.id.in_(sorted(set(run_ids))))
    return {row[0]: row[1] for row in await unit.connection.execute(query)}


async def lock_runs(unit: Unit, ids: Iterable[UUID]) -> dict[UUID, RunRow]:
    """Lock runs in id order."""
    rows = await unit.connection.execute(_LOCK_RUNS, {"ids": padded(sorted(set(ids)))})
    return {row[0]: RunRow(*row) for row in rows}


async def live_runs(unit: Unit) -> list[UUID]:
    """List the runs that are not over."""
    return list((await unit.connection.execute(select(Run.id).where(Run.status.in_(LIVE)))).scalars())


async def settings_of(unit: Unit, run_ids: Iterable[UUID]) -> dict[UUID, dict[str, Any]]:
    """Read the settings of those runs that are not over."""
    query = select(Run.id, Run.settings).where(Run.id.in_(sorted(set(run_ids))), Run.status.in_(LIVE))
    return {row[0]: row[1] for row in await unit.connection.execute(query)}


async def running_runs(unit: Unit, account_ids: Iterable[UUID]) -> set[UUID]:
    """List the runs of accounts that still have cases to let out."""
    query = select(Run.id).where(
        Run.account_id.in_(sorted(set(account_ids))), Run.status.in_(LIVE), Run.next_ordinal < Run.total
    )
    return set((await unit.connection.execute(query)).scalars())


async def in_flight_by_account(unit: Unit, account_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Count the cases an account has in flight, over all its runs."""
    query = (
        select(Run.account_id, func.sum(Run.in_flight))
        .where(Run.account_id.in_(sorted(set(account_ids))), Run.status.in_(LIVE))
        .group_by(Run.account_id)
    )
    return {account: int(count) for account, count in await unit.connection.execute(query)}


async def insert_phases(unit: Unit, phases: Sequence[NewPhase]) -> None:
    """Record reports; one that is there already stays as it is."""
    if not phases:
        return
    rows = [
        {
            "result_id": p.result_id,
            "attempt": p.attempt,
            "phase": p.phase.value,
            "run_id": p.run_id,
            "payload": Written(p.payload),
        }
        for p in phases
    ]
    await unit.connection.execute(_insert_phases(unit.dialect), rows)


async def results_by_id(unit: Unit, ids: Iterable[UUID]) -> dict[UUID, ResultRow]:
    """Read results with their case snapshots."""
    found: dict[UUID, ResultRow] = {}
    for part in _batched(sorted(set(ids)), MOST_PARAMETERS):
        rows = await unit.connection.execute(_RESULTS, {"ids": padded(part)})
        found |= {row[0]: ResultRow(*row) for row in rows}
    return found


async def result_of_job(unit: Unit, run_id: UUID, case_id: UUID, trial: int) -> tuple[UUID, int, str] | None:
    """Find the result of a job by its name: id, current attempt and stage."""
    query = select(TestResult.id, TestResult.attempt, TestResult.stage).where(
        TestResult.run_id == run_id, TestResult.case_id == case_id, TestResult.trial == trial
    )
    row = (await unit.connection.execute(query)).first()
    return None if row is None else (row[0], row[1], row[2])


async def executed_payloads(
    unit: Unit, keys: Iterable[tuple[UUID, int]]
) -> Mapping[tuple[UUID, int], dict[str, Any]]:
    """Read what was executed in the attempts that are now judged."""
    wanted = set(keys)
    found: dict[tuple[UUID, int], dict[str, Any]] = {}
    for part in _batched(sorted({key[0] for key in wanted}), MOST_PARAMETERS):
        query = select(ResultPhase.result_id, ResultPhase.attempt, ResultPhase.payload).where(
            ResultPhase.result_id.in_(padded(part)), ResultPhase.phase == Phase.EXECUTED.value
        )
        rows = await unit.connection.execute(query)
        found |= {(row[0], row[1]): row[2] for row in rows if (row[0], row[1]) in wanted}
    return found


async def waiting_results(unit: Unit, run_id: UUID, *, from_ordinal: int, limit: int) -> Sequence[WaitingRow]:
    """Read the next results to let out, in order."""
    rows = await unit.connection.execute(_WAITING, {"run": run_id, "from": from_ordinal, "limit": limit})
    return [WaitingRow(*row) for row in rows]


async def waiting_retries(unit: Unit, run_id: UUID) -> Sequence[UUID]:
    """List the results that wait for a retry, in order."""
    query = (
        select(TestResult.id)
        .where(TestResult.run_id == run_id, TestResult.stage == "waiting", TestResult.attempt > 0)
        .order_by(TestResult.ordinal)
    )
    return (await unit.connection.execute(query)).scalars().all()


async def save_results(unit: Unit, changes: Sequence[Mapping[str, Any]]) -> None:
    """Write changed results; changes with the same columns travel together."""
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for change in changes:
        columns = tuple(sorted(name for name in change if name != "id"))
        by_columns.setdefault(columns, []).append(
            {"row_id": change["id"], **{f"new_{name}": change[name] for name in columns}}
        )
    for columns, rows in by_columns.items():
        await unit.connection.execute(_save(columns), rows)


async def bump_run(unit: Unit, run_id: UUID, *, add: Mapping[str, int], put: Mapping[str, Any]) -> int:
    """Add to counters and put values; returns what remains."""
    deltas = {name: delta for name, delta in add.items() if delta}
    statement = _bump(tuple(sorted(deltas)), tuple(sorted(put)))
    values = {"row_id": run_id} | {f"add_{name}": delta for name, delta in deltas.items()}
    values |= {f"put_{name}": value for name, value in put.items()}
    remaining: int = (await unit.connection.execute(statement, values)).scalar_one()
    return remaining


async def finish_run(unit: Unit, run_id: UUID, *, values: Mapping[str, Any]) -> bool:
    """Complete a run that has nothing left; only the replica that changed the row hears True."""
    statement = update(Run).where(Run.id == run_id, Run.status.in_(LIVE), Run.remaining == 0).values(**values)
    return (await unit.connection.execute(statement)).rowcount == 1


async def charge(unit: Unit, account_id: UUID, micro: int) -> None:
    """Take money from a balance that is not unlimited."""
    if micro:
        await unit.connection.execute(
            update(Account)
            .where(Account.id == account_id, Account.balance_micro.is_not(None))
            .values(balance_micro=Account.balance_micro - micro)
        )


async def out_before(unit: Unit, moment: datetime, *, limit: int) -> Sequence[OutRow]:
    """List the results whose jobs have been out since before a moment, oldest first."""
    query = (
        select(
            TestResult.id,
            TestResult.run_id,
            TestResult.case_id,
            TestResult.trial,
            TestResult.attempt,
            TestResult.stage,
            TestResult.dispatched_at,
            TestResult.losses,
        )
        .where(TestResult.stage.in_(["executing", "judging"]), TestResult.dispatched_at < moment)
        .order_by(TestResult.dispatched_at)
        .limit(limit)
    )
    return [OutRow(*row) for row in await unit.connection.execute(query)]


async def oldest_waiting(unit: Unit) -> datetime | None:
    """When the longest-waiting job that is out was let out."""
    query = select(func.min(TestResult.dispatched_at)).where(TestResult.stage.in_(["executing", "judging"]))
    return (await unit.connection.execute(query)).scalar_one()


async def end_waiting(unit: Unit, run_id: UUID, *, error: Mapping[str, Any], now: datetime) -> int:
    """End every result that was never let out; returns how many."""
    statement = (
        update(TestResult)
        .where(TestResult.run_id == run_id, TestResult.stage == "waiting", TestResult.attempt == 0)
        .values(status="error", stage="done", first_status="error", error=dict(error), completed_at=now)
    )
    return (await unit.connection.execute(statement)).rowcount
