"""Deleting in small batches: the rows of runs that are marked, and old rows that belong to no run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, exists, func, literal_column, or_, select

from proctor_store.padding import padded
from proctor_store.session import Unit
from proctor_store.tables import (
    Alert,
    AlertDelivery,
    OutboxDeadRow,
    ResultPhase,
    Run,
    RunCase,
    RunEventRow,
    RunLook,
    ScheduleTick,
    TestResult,
)

from .retention import remove_compare

__all__ = [
    "Batch",
    "Marked",
    "marked",
    "remove_alerts",
    "remove_cases",
    "remove_dead",
    "remove_events",
    "remove_looks",
    "remove_results",
    "remove_run",
    "remove_ticks",
]

_TICK_OVER = ("started", "missed", "refused")


@dataclass(frozen=True, slots=True)
class Marked:
    """A run whose rows may be deleted."""

    id: UUID
    status: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows deleted, by table; whether there may be more, and behind what to look for them."""

    rows: Mapping[str, int]
    more: bool = False
    last: Any = None


async def marked(unit: Unit, *, before: datetime, limit: int) -> Sequence[Marked]:
    """List runs that were marked before a moment, the oldest first.

    What read them before they were marked should be over by then.
    """
    query = (
        select(Run.id, Run.status)
        .where(Run.deleted_at.is_not(None), Run.deleted_at < before)
        .order_by(Run.deleted_at)
        .limit(limit)
    )
    return [Marked(*row) for row in await unit.connection.execute(query)]


async def remove_results(unit: Unit, run_id: UUID, *, after: int | None, limit: int) -> Batch:
    """Delete results of a run behind an ordinal, with everything that was said in them."""
    query = (
        select(TestResult.id, TestResult.ordinal)
        .where(TestResult.run_id == run_id)
        .order_by(TestResult.ordinal)
        .limit(limit)
    )
    if after is not None:
        query = query.where(TestResult.ordinal > after)
    found = (await unit.connection.execute(query)).all()
    if not found:
        return Batch({})
    ids = padded([row.id for row in found])
    phases = await _deleted(unit, ResultPhase, ResultPhase.result_id.in_(ids))
    results = await _deleted(unit, TestResult, TestResult.id.in_(ids))
    rows = {"result_phases": phases, "test_results": results}
    return Batch(rows, len(found) == limit, found[-1].ordinal)


async def remove_events(unit: Unit, run_id: UUID, *, after: int | None, limit: int) -> Batch:
    """Delete events of a run behind a number; they are numbered without a gap."""
    query = select(func.min(RunEventRow.seq)).where(RunEventRow.run_id == run_id)
    if after is not None:
        query = query.where(RunEventRow.seq > after)
    first = (await unit.connection.execute(query)).scalar_one()
    if first is None:
        return Batch({})
    last = first + limit - 1
    done = await _deleted(
        unit, RunEventRow, RunEventRow.run_id == run_id, RunEventRow.seq.between(first, last)
    )
    return Batch({"run_events": done}, done == limit, last)


async def remove_cases(unit: Unit, run_id: UUID, *, after: UUID | None, limit: int) -> Batch:
    """Delete case snapshots of a run behind a case."""
    query = select(RunCase.case_id).where(RunCase.run_id == run_id).order_by(RunCase.case_id).limit(limit)
    if after is not None:
        query = query.where(RunCase.case_id > after)
    found = (await unit.connection.execute(query)).scalars().all()
    if not found:
        return Batch({})
    done = await _deleted(unit, RunCase, RunCase.run_id == run_id, RunCase.case_id.in_(padded(found)))
    return Batch({"run_cases": done}, len(found) == limit, found[-1])


async def remove_run(unit: Unit, run_id: UUID) -> Batch:
    """Delete a marked run itself, with its look, and its comparison if that was the last run of it."""
    query = select(Run.compare_run_id).where(Run.id == run_id)
    compare_id = (await unit.connection.execute(query)).scalar_one_or_none()
    runs = await _deleted(unit, Run, Run.id == run_id, Run.deleted_at.is_not(None))
    compares = await remove_compare(unit, compare_id) if runs else False
    return Batch({"test_runs": runs, "compare_runs": int(compares)})


async def remove_alerts(unit: Unit, *, before: datetime, limit: int) -> Batch:
    """Delete alerts from before a moment with their deliveries, unless one is still to be delivered."""
    pending = exists().where(AlertDelivery.alert_id == Alert.id, AlertDelivery.state == "pending")
    old = select(Alert.id).where(Alert.created_at < before, ~pending).order_by(Alert.created_at).limit(limit)
    return await _batch(unit, Alert, Alert.id.in_(old), limit=limit)


async def remove_looks(unit: Unit, *, before: datetime, limit: int) -> Batch:
    """Delete settled looks that nothing has changed since a moment."""
    # Written out, as the index over settled looks needs it.
    settled = RunLook.state == literal_column("'settled'")
    old = (
        select(RunLook.run_id)
        .where(settled, RunLook.updated_at < before)
        .order_by(RunLook.updated_at)
        .limit(limit)
    )
    return await _batch(unit, RunLook, RunLook.run_id.in_(old), limit=limit)


async def remove_ticks(unit: Unit, *, before: datetime, limit: int) -> Batch:
    """Delete planned times decided on before a moment, unless one may still start a run."""
    old = (
        select(ScheduleTick.id)
        .where(ScheduleTick.created_at < before, ScheduleTick.status.in_(_TICK_OVER))
        .order_by(ScheduleTick.created_at)
        .limit(limit)
    )
    return await _batch(unit, ScheduleTick, ScheduleTick.id.in_(old), limit=limit)


async def remove_dead(unit: Unit, *, before: datetime, limit: int) -> Batch:
    """Delete messages that could never be published, from before a moment, whose run is gone."""
    there = exists().where(Run.id == OutboxDeadRow.run_id)
    old = (
        select(OutboxDeadRow.id)
        .where(OutboxDeadRow.created_at < before, or_(OutboxDeadRow.run_id.is_(None), ~there))
        .order_by(OutboxDeadRow.created_at)
        .limit(limit)
    )
    return await _batch(unit, OutboxDeadRow, OutboxDeadRow.id.in_(old), limit=limit)


async def _batch(unit: Unit, table: Any, where: ColumnElement[bool], *, limit: int) -> Batch:
    done = await _deleted(unit, table, where)
    return Batch({table.__tablename__: done}, done == limit)


async def _deleted(unit: Unit, table: Any, *where: ColumnElement[bool]) -> int:
    return (await unit.connection.execute(delete(table).where(*where))).rowcount
