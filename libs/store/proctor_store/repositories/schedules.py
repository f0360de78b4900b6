"""Schedules and ticks as the scheduler works on them.

Rows are locked in one order by everybody: a schedule, its ticks, its account. The scheduler passes over
schedules that somebody else holds, so it never waits for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, func, or_, select, text, union_all, update

from proctor_store.inserting import insert_for
from proctor_store.padding import padded
from proctor_store.session import Unit
from proctor_store.tables import Run, Schedule, ScheduleTick

from .pipeline import LIVE

__all__ = [
    "DueSchedule",
    "OpenTick",
    "accounts",
    "add_ticks",
    "claim",
    "moment",
    "open_ticks",
    "page",
    "run_ended",
    "running_since",
    "save",
    "save_ticks",
    "waiting",
]

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_TABLE = Schedule.__table__
_TICKS = ScheduleTick.__table__
# Written out, since an index over some rows serves a statement only where its condition can be read.
_OPEN = text("schedule_ticks.status IN ('waiting', 'fired')")
_FIRED = text("schedule_ticks.status = 'fired'")


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSchedule:
    """A schedule under its lock."""

    id: UUID
    account_id: UUID
    cron_expression: str
    timezone: str
    is_active: bool
    waiting_for: str | None
    counted_from: datetime
    counted_local: str | None
    next_run_at: datetime | None
    last_run_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTick:
    """A planned time that is not over: it waits, or its run was asked for."""

    id: UUID
    schedule_id: UUID
    planned_at: datetime
    status: str
    fires: int
    fired_at: datetime | None
    asked_at: datetime | None
    reason: str | None


_COLUMNS = tuple(_TABLE.c[one.name] for one in fields(DueSchedule))
_OPEN_COLUMNS = tuple(_TICKS.c[one.name] for one in fields(OpenTick))


async def moment(unit: Unit, *, clock: datetime) -> datetime:
    """The database's time, which alone says what is due: replicas' clocks may differ.

    An embedded database has one owner, whose own `clock` is taken.
    """
    if unit.dialect != "postgresql":
        return clock
    now: datetime = (await unit.connection.execute(select(func.clock_timestamp()))).scalar_one()
    return now.astimezone(UTC)


async def accounts(unit: Unit, *, now: datetime, asked_before: datetime | None, limit: int) -> Sequence[UUID]:
    """The accounts with something to do, those first that are due for longest; see `claim`."""
    query = (
        select(_TABLE.c.account_id)
        .where(_pending(now, asked_before))
        .group_by(_TABLE.c.account_id)
        .order_by(func.min(_TABLE.c.next_run_at))
        .limit(limit)
    )
    return (await unit.connection.execute(query)).scalars().all()


async def claim(
    unit: Unit,
    account_id: UUID,
    *,
    now: datetime,
    asked_before: datetime | None,
    after: DueSchedule | None,
    limit: int,
) -> Sequence[DueSchedule]:
    """Lock an account's schedules that are due and not held by others, longest without a run first.

    With `asked_before` also those with a tick that waits, or whose run was last asked for before then and is
    not there. `after` continues behind a schedule in this order.
    """
    last_run = func.coalesce(_TABLE.c.last_run_at, _NEVER)
    query = (
        select(*_COLUMNS)
        .where(_TABLE.c.account_id == account_id, _pending(now, asked_before))
        .order_by(last_run, _TABLE.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    if after is not None:
        seen = bindparam("seen", after.last_run_at or _NEVER, type_=_TABLE.c.last_run_at.type)
        query = query.where(or_(last_run > seen, (last_run == seen) & (_TABLE.c.id > after.id)))
    return [DueSchedule(**row) for row in (await unit.connection.execute(query)).mappings()]


async def page(unit: Unit, *, after: UUID | None, limit: int) -> Sequence[DueSchedule]:
    """Lock the next active schedules by id, but those that others hold."""
    query = (
        select(*_COLUMNS)
        .where(_TABLE.c.is_active)
        .order_by(_TABLE.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    if after is not None:
        query = query.where(_TABLE.c.id > after)
    return [DueSchedule(**row) for row in (await unit.connection.execute(query)).mappings()]


async def waiting(unit: Unit) -> int:
    """Count the schedules with a tick that waits."""
    query = select(func.count()).select_from(_TABLE).where(_TABLE.c.waiting_for.is_not(None))
    return (await unit.connection.execute(query)).scalar_one()


async def open_ticks(unit: Unit, schedule_ids: Sequence[UUID]) -> Sequence[OpenTick]:
    """The ticks of schedules that are not over, oldest planned time first."""
    query = (
        select(*_OPEN_COLUMNS)
        .where(_TICKS.c.schedule_id.in_(padded(schedule_ids)), _OPEN)
        .order_by(_TICKS.c.planned_at)
    )
    return [OpenTick(**row) for row in (await unit.connection.execute(query)).mappings()]


async def running_since(unit: Unit, schedule_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """When the newest run of each schedule that has one which is not over was started."""
    query = (
        select(Run.schedule_id, func.max(Run.created_at))
        .where(Run.schedule_id.in_(padded(schedule_ids)), Run.status.in_(LIVE))
        .group_by(Run.schedule_id)
    )
    found = await unit.connection.execute(query)
    return {schedule: since for schedule, since in found if schedule is not None}


async def add_ticks(unit: Unit, ticks: Sequence[Mapping[str, Any]]) -> frozenset[UUID]:
    """Write new ticks; returns the ids of those whose schedule had none at that planned time."""
    if not ticks:
        return frozenset()
    statement = (
        insert_for(unit.dialect, ScheduleTick)
        .values(list(ticks))
        .on_conflict_do_nothing(index_elements=["schedule_id", "planned_at"])
        .returning(_TICKS.c.id)
    )
    return frozenset((await unit.connection.execute(statement)).scalars())


async def save(unit: Unit, changes: Mapping[UUID, Mapping[str, Any]]) -> None:
    """Set columns of schedules, other ones for each."""
    await _set(unit, Schedule, changes)


async def save_ticks(unit: Unit, changes: Mapping[UUID, Mapping[str, Any]]) -> None:
    """Set columns of ticks, other ones for each."""
    await _set(unit, ScheduleTick, changes)


async def run_ended(unit: Unit, schedule_id: UUID, run_id: UUID, status: str) -> bool:
    """Note how a schedule's last run ended; False when it has another one by now."""
    statement = (
        update(Schedule)
        .where(Schedule.id == schedule_id, Schedule.last_run_id == run_id)
        .values(last_run_status=status)
    )
    return (await unit.connection.execute(statement)).rowcount == 1


def _pending(now: datetime, asked_before: datetime | None) -> ColumnElement[bool]:
    due = _TABLE.c.is_active & (_TABLE.c.next_run_at <= now)
    if asked_before is None:
        return due
    other = _TABLE.alias()
    # Each part has its index; a condition with OR would look at every schedule.
    return _TABLE.c.id.in_(
        union_all(
            select(other.c.id).where(other.c.is_active, other.c.next_run_at <= now),
            select(other.c.id).where(other.c.waiting_for.is_not(None)),
            select(_TICKS.c.schedule_id).where(_FIRED, _TICKS.c.asked_at <= asked_before),
        )
    )


async def _set(
    unit: Unit, model: type[Schedule | ScheduleTick], changes: Mapping[UUID, Mapping[str, Any]]
) -> None:
    table = model.__table__
    for columns, rows in _alike(changes.items()):
        statement = (
            update(model)
            .where(table.c.id == bindparam("row_id", type_=table.c.id.type))
            .values({name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns})
            .execution_options(synchronize_session=False)
        )
        values = [{"row_id": row} | {f"new_{name}": new[name] for name in columns} for row, new in rows]
        await unit.connection.execute(statement, values)


def _alike(
    changes: Iterable[tuple[UUID, Mapping[str, Any]]],
) -> Iterable[tuple[tuple[str, ...], list[tuple[UUID, Mapping[str, Any]]]]]:
    """Sort changes by the columns that they set."""
    kinds: dict[tuple[str, ...], list[tuple[UUID, Mapping[str, Any]]]] = {}
    for row, new in changes:
        if new:
            kinds.setdefault(tuple(sorted(new)), []).append((row, new))
    return kinds.items()
