"""Runs as users start, read, list and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, func, insert, select, update

from proctor_store.columns import Written
from proctor_store.searching import has_tag
from proctor_store.session import Unit
from proctor_store.tables import Integration, Run, RunCase, TestResult

__all__ = [
    "by_idempotency_key",
    "cancel_open_results",
    "cancelled_since",
    "case_ids",
    "find",
    "hide",
    "insert_cases",
    "insert_run",
    "listing",
    "live_runs",
    "rerun_ids",
    "set_warnings",
    "snapshots",
    "started_since",
]

_VIEW = (*Run.__table__.columns, Integration.name.label("integration_name"))


async def insert_run(unit: Unit, run: Mapping[str, Any]) -> None:
    """Write a run; its cases and results follow."""
    await unit.connection.execute(insert(Run), [dict(run)])


async def insert_cases(
    unit: Unit, cases: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> None:
    """Write some of a run's case snapshots (`snapshot` as written JSON) and their waiting results."""
    await unit.connection.execute(
        insert(RunCase), [{**case, "snapshot": Written(case["snapshot"])} for case in cases]
    )
    await unit.connection.execute(insert(TestResult), list(results))


async def set_warnings(unit: Unit, run_id: UUID, warnings: Sequence[Mapping[str, Any]]) -> None:
    """Say of a new run what was seen while its cases were written."""
    await unit.connection.execute(update(Run).where(Run.id == run_id).values(warnings=list(warnings)))


async def find(unit: Unit, account_id: UUID, run_id: UUID, *, keep: bool = False) -> RowMapping | None:
    """Read one run of the account; with `keep`, nobody deletes it before the transaction ends."""
    query = _select().where(Run.account_id == account_id, Run.id == run_id)
    if keep:
        query = query.with_for_update(read=True, of=Run)
    return (await unit.connection.execute(query)).mappings().first()


async def by_idempotency_key(unit: Unit, account_id: UUID, key: str) -> RowMapping | None:
    """Read the run that this key started before."""
    query = _select().where(Run.account_id == account_id, Run.idempotency_key == key)
    return (await unit.connection.execute(query)).mappings().first()


async def listing(
    unit: Unit,
    account_id: UUID,
    *,
    integration_id: UUID | None,
    status: str | None,
    trigger: str | None,
    compare_run_id: UUID | None,
    schedule_id: UUID | None = None,
    tag: str | None,
    before: UUID | None,
    skip: int,
    take: int,
) -> tuple[Sequence[RowMapping], int]:
    """List runs, newest first, and count them all; `before` continues behind a run."""
    wanted: list[ColumnElement[bool]] = [Run.account_id == account_id, Run.deleted_at.is_(None)]
    if integration_id is not None:
        wanted.append(Run.integration_id == integration_id)
    if status is not None:
        wanted.append(Run.status == status)
    if trigger is not None:
        wanted.append(Run.trigger == trigger)
    if compare_run_id is not None:
        wanted.append(Run.compare_run_id == compare_run_id)
    if schedule_id is not None:
        wanted.append(Run.schedule_id == schedule_id)
    if tag is not None:
        wanted.append(has_tag(Run.tags, tag, dialect=unit.dialect))
    total = (await unit.connection.execute(select(func.count()).select_from(Run).where(*wanted))).scalar_one()
    query = _select().where(*wanted).order_by(Run.id.desc()).offset(skip).limit(take)
    if before is not None:
        query = query.where(Run.id < before)
    return (await unit.connection.execute(query)).mappings().all(), total


async def case_ids(unit: Unit, run_id: UUID) -> list[UUID]:
    """The cases of a run in the order they were given."""
    query = (
        select(TestResult.case_id)
        .where(TestResult.run_id == run_id, TestResult.trial == 1)
        .order_by(TestResult.ordinal)
    )
    return list((await unit.connection.execute(query)).scalars())


async def rerun_ids(
    unit: Unit, run_id: UUID, *, statuses: Iterable[str] | None, categories: Iterable[str] | None = None
) -> Sequence[UUID]:
    """The cases of a run in order.

    `statuses` keeps those with such a result, `categories` those that were in one of them then.
    """
    query = (
        select(TestResult.case_id, func.min(TestResult.ordinal).label("first"))
        .where(TestResult.run_id == run_id)
        .group_by(TestResult.case_id)
        .order_by("first")
    )
    if statuses is not None:
        query = query.where(TestResult.status.in_(list(statuses)))
    if categories is not None:
        same = (RunCase.run_id == TestResult.run_id) & (RunCase.case_id == TestResult.case_id)
        query = query.join(RunCase, same).where(RunCase.category.in_(list(categories)))
    return [row[0] for row in await unit.connection.execute(query)]


async def snapshots(
    unit: Unit, run_id: UUID, case_ids: Sequence[UUID]
) -> Sequence[tuple[dict[str, Any], str]]:
    """These cases of a run as they were, with their search text, in the order given."""
    query = select(RunCase.case_id, RunCase.snapshot, RunCase.search_text).where(
        RunCase.run_id == run_id, RunCase.case_id.in_(case_ids)
    )
    found = {row[0]: (row[1], row[2]) for row in await unit.connection.execute(query)}
    return [found[case] for case in case_ids]


async def started_since(unit: Unit, account_id: UUID, moment: datetime) -> list[datetime]:
    """When the account started runs since a moment, oldest first."""
    query = (
        select(Run.created_at)
        .where(Run.account_id == account_id, Run.created_at > moment)
        .order_by(Run.created_at)
    )
    return list((await unit.connection.execute(query)).scalars())


async def cancel_open_results(unit: Unit, run_id: UUID, *, now: datetime) -> int:
    """Cancel every result that is not over; returns how many."""
    statement = (
        update(TestResult)
        .where(TestResult.run_id == run_id, TestResult.stage != "done")
        .values(status="cancelled", stage="done", completed_at=now, reserved_micro=0)
    )
    return (await unit.connection.execute(statement)).rowcount


async def cancelled_since(unit: Unit, moment: datetime) -> list[UUID]:
    """The runs cancelled since a moment, for a worker that was away."""
    query = select(Run.id).where(Run.status == "cancelled", Run.completed_at > moment)
    return list((await unit.connection.execute(query)).scalars())


async def live_runs(unit: Unit, account_id: UUID) -> list[UUID]:
    """The account's runs that are not over, oldest first."""
    query = (
        select(Run.id)
        .where(Run.account_id == account_id, Run.status.in_(["pending", "running"]))
        .order_by(Run.id)
    )
    return list((await unit.connection.execute(query)).scalars())


async def hide(unit: Unit, run_id: UUID, *, now: datetime) -> None:
    """Take a run that is over away from everybody; its rows go later, in batches.

    What must be unique among runs is free again at once.
    """
    free = {"idempotency_key": None, "idempotency_hash": None, "confirms_run_id": None}
    await unit.connection.execute(update(Run).where(Run.id == run_id).values(deleted_at=now, **free))


def _select() -> Any:
    return (
        select(*_VIEW).join(Integration, Integration.id == Run.integration_id).where(Run.deleted_at.is_(None))
    )
