"""What the collector reads and writes of running runs, in batches, under locks taken in id order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import insert as pg_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from proctor_contracts.enums import Phase
from proctor_store.columns import Written
from proctor_store.session import Unit
from proctor_store.tables import Account, ResultPhase, Run, RunCase, TestResult

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
    "lock_accounts",
    "lock_runs",
    "oldest_waiting",
    "out_before",
    "owners",
    "result_of_job",
    "results_by_id",
    "running_runs",
    "save_results",
    "waiting_results",
]


LIVE = ("pending", "running")


@dataclass(frozen=True, slots=True)
class AccountRow:
    """An account under its lock."""

    id: UUID
    balance_micro: int | None
    max_concurrent_cases: int | None
    runs_per_minute: int | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run under its lock, with the counters that decisions need."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    status: str
    trigger: str
    mode: str
    settings: dict[str, Any]
    prompt_overridden: bool
    compare_run_id: UUID | None
    schedule_id: UUID | None
    window: int
    total: int
    remaining: int
    next_ordinal: int
    in_flight: int
    judging: int
    budget_micro: int | None
    reserved_micro: int
    cost_micro: int
    event_seq: int
    agent_models: list[str]
    judge_models: list[str]
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A result with the case it plays."""

    id: UUID
    run_id: UUID
    case_id: UUID
    trial: int
    ordinal: int
    status: str
    stage: str
    attempt: int
    history: list[list[Any]]
    cost_micro: int | None
    reserved_micro: int
    usage: dict[str, Any] | None
    judge_usage: dict[str, Any] | None
    latencies: list[int] | None
    duration_ms: int | None
    losses: int
    started_at: datetime | None
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A result not yet let out."""

    id: UUID
    case_id: UUID
    trial: int
    ordinal: int
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OutRow:
    """A result whose job is out, for the sweeper."""

    id: UUID
    run_id: UUID
    case_id: UUID
    trial: int
    attempt: int
    stage: str
    dispatched_at: datetime | None
    losses: int


@dataclass(frozen=True, slots=True)
class NewPhase:
    """A worker's report, as it came."""

    result_id: UUID
    attempt: int
    phase: Phase
    run_id: UUID
    payload: str


_RUN = (
    Run.id,
    Run.account_id,
    Run.integration_id,
    Run.status,
    Run.trigger,
    Run.mode,
    Run.settings,
    Run.prompt_overridden,
    Run.compare_run_id,
    Run.schedule_id,
    Run.window,
    Run.total,
    Run.remaining,
    Run.next_ordinal,
    Run.in_flight,
    Run.judging,
    Run.budget_micro,
    Run.reserved_micro,
    Run.cost_micro,
    Run.event_seq,
    Run.agent_models,
    Run.judge_models,
    Run.started_at,
)

_RESULT = (
    TestResult.id,
    TestResult.run_id,
    TestResult.case_id,
    TestResult.trial,
    TestResult.ordinal,
    TestResult.status,
    TestResult.stage,
    TestResult.attempt,
    TestResult.history,
    TestResult.cost_micro,
    TestResult.reserved_micro,
    TestResult.usage,
    TestResult.judge_usage,
    TestResult.latencies,
    TestResult.duration_ms,
    TestResult.losses,
    TestResult.started_at,
    RunCase.snapshot,
)


async def lock_accounts(unit: Unit, ids: Iterable[UUID]) -> dict[UUID, AccountRow]:
    """Lock accounts in id order, always before their runs."""
    query = (
        select(Account.id, Account.balance_micro, Account.max_concurrent_cases, Account.runs_per_minute)
        .where(Account.id.in_(sorted(set(ids))))
        .order_by(Account.id)
        .with_for_update()
    )
    return {row[0]: AccountRow(*row) for row in await unit.connection.execute(query)}


async def owners(unit: Unit, run_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Find whose runs these are: run id to account id."""
    query = select(Run.id, Run.account_id).where(Run.id.in_(sorted(set(run_ids))))
    return {run: account for run, account in await unit.connection.execute(query)}


async def lock_runs(unit: Unit, ids: Iterable[UUID]) -> dict[UUID, RunRow]:
    """Lock runs in id order."""
    query = select(*_RUN).where(Run.id.in_(sorted(set(ids)))).order_by(Run.id).with_for_update()
    return {row[0]: RunRow(*row) for row in await unit.connection.execute(query)}


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


async def insert_phases(unit: Unit, phases: Sequence[NewPhase]) -> set[tuple[UUID, int, Phase]]:
    """Record reports; returns the keys that were new. A duplicate, in the batch or before, changes nothing."""
    if not phases:
        return set()
    insert = pg_insert if unit.dialect == "postgresql" else sqlite_insert
    statement = (
        insert(ResultPhase)
        .on_conflict_do_nothing(index_elements=["result_id", "attempt", "phase"])
        .returning(ResultPhase.result_id, ResultPhase.attempt, ResultPhase.phase)
    )
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
    return {(row[0], row[1], Phase(row[2])) for row in await unit.connection.execute(statement, rows)}


async def results_by_id(unit: Unit, ids: Iterable[UUID]) -> dict[UUID, ResultRow]:
    """Read results with their case snapshots."""
    query = (
        select(*_RESULT)
        .join(RunCase, (RunCase.run_id == TestResult.run_id) & (RunCase.case_id == TestResult.case_id))
        .where(TestResult.id.in_(sorted(set(ids))))
    )
    return {row[0]: ResultRow(*row) for row in await unit.connection.execute(query)}


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
    if not wanted:
        return {}
    query = select(ResultPhase.result_id, ResultPhase.attempt, ResultPhase.payload).where(
        ResultPhase.result_id.in_(sorted({key[0] for key in wanted})),
        ResultPhase.phase == Phase.EXECUTED.value,
    )
    rows = await unit.connection.execute(query)
    return {(row[0], row[1]): row[2] for row in rows if (row[0], row[1]) in wanted}


async def waiting_results(unit: Unit, run_id: UUID, *, from_ordinal: int, limit: int) -> Sequence[WaitingRow]:
    """Read the next results to let out, in order."""
    query = (
        select(TestResult.id, TestResult.case_id, TestResult.trial, TestResult.ordinal, RunCase.snapshot)
        .join(RunCase, (RunCase.run_id == TestResult.run_id) & (RunCase.case_id == TestResult.case_id))
        .where(TestResult.run_id == run_id, TestResult.ordinal >= from_ordinal, TestResult.stage == "waiting")
        .order_by(TestResult.ordinal)
        .limit(limit)
    )
    return [WaitingRow(*row) for row in await unit.connection.execute(query)]


async def save_results(unit: Unit, changes: Sequence[Mapping[str, Any]]) -> None:
    """Write changed results; changes with the same columns travel together."""
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for change in changes:
        columns = tuple(sorted(name for name in change if name != "id"))
        by_columns.setdefault(columns, []).append(
            {"row_id": change["id"], **{f"new_{name}": change[name] for name in columns}}
        )
    table = TestResult.__table__
    for columns, rows in by_columns.items():
        statement = (
            update(TestResult)
            .where(TestResult.id == bindparam("row_id", type_=table.c.id.type))
            .values({name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns})
            .execution_options(synchronize_session=False)
        )
        await unit.connection.execute(statement, rows)


async def bump_run(unit: Unit, run_id: UUID, *, add: Mapping[str, int], put: Mapping[str, Any]) -> int:
    """Add to counters and put values; returns what remains."""
    table = Run.__table__
    values: dict[str, Any] = {name: table.c[name] + delta for name, delta in add.items() if delta}
    values |= put
    if not values:
        values = {"remaining": literal_column("remaining")}
    statement = update(Run).where(Run.id == run_id).values(values).returning(Run.remaining)
    return (await unit.connection.execute(statement)).scalar_one()


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
        .where(TestResult.run_id == run_id, TestResult.stage == "waiting")
        .values(status="error", stage="done", first_status="error", error=dict(error), completed_at=now)
    )
    return (await unit.connection.execute(statement)).rowcount
