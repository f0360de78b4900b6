"""Schedules as their users keep them, with the history of their ticks; what is due is `schedules`' to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, delete, func, insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.session import Unit
from proctor_store.tables import Integration, Run, Schedule, ScheduleTick

__all__ = ["ScheduleRecord", "change", "create", "get", "listed", "pass_over", "remove", "seen", "ticks"]

_TABLE = Schedule.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRecord:
    """A schedule; `mode` and `notifications` are the wire forms (camelCase)."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    name: str
    cron_expression: str
    timezone: str
    mode: dict[str, Any]
    notifications: dict[str, Any]
    is_active: bool
    counted_from: datetime
    next_run_at: datetime | None
    created_at: datetime
    updated_at: datetime
    counted_local: str | None = None
    waiting_for: str | None = None
    last_run_at: datetime | None = None
    last_run_id: UUID | None = None


_NAMES = ScheduleRecord.__slots__
_COLUMNS = tuple(_TABLE.c[name] for name in _NAMES)
_VIEW = (
    *_COLUMNS,
    Integration.name.label("integration_name"),
    # How a run ended outlives it.
    func.coalesce(Run.status, Schedule.last_run_status).label("last_run_status"),
)


async def create(unit: Unit, schedule: ScheduleRecord) -> None:
    """Add a schedule.

    Raises:
        Vanished: when its integration is gone.
    """
    with conflicts({}):
        await unit.connection.execute(
            insert(Schedule).values({_TABLE.c[name]: getattr(schedule, name) for name in _NAMES})
        )


async def get(
    unit: Unit, account_id: UUID, schedule_id: UUID, *, lock: bool = False
) -> ScheduleRecord | None:
    """Read a schedule of the account; with `lock`, it is neither fired nor changed meanwhile (PostgreSQL)."""
    query = select(*_COLUMNS).where(_TABLE.c.id == schedule_id, _TABLE.c.account_id == account_id)
    if lock:
        query = query.with_for_update()
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else ScheduleRecord(**found)


async def seen(unit: Unit, account_id: UUID, schedule_id: UUID) -> RowMapping | None:
    """Read a schedule of the account with the name of its integration and the status of its last run."""
    query = _viewed().where(_TABLE.c.id == schedule_id, _TABLE.c.account_id == account_id)
    return (await unit.connection.execute(query)).mappings().first()


async def listed(
    unit: Unit,
    account_id: UUID,
    page: Page,
    *,
    integration_id: UUID | None = None,
    is_active: bool | None = None,
) -> Rows[RowMapping]:
    """List the account's schedules as `seen` reads them, newest first."""
    where = [_TABLE.c.account_id == account_id]
    if integration_id is not None:
        where.append(_TABLE.c.integration_id == integration_id)
    if is_active is not None:
        where.append(_TABLE.c.is_active == is_active)
    query = _viewed().where(*where).order_by(_TABLE.c.id.desc()).limit(page.take + 1).offset(page.skip)
    if page.cursor is not None:
        query = query.where(_TABLE.c.id < page.cursor)
    rows, more = cut((await unit.connection.execute(query)).mappings().all(), page)
    total = await unit.connection.scalar(select(func.count()).select_from(_TABLE).where(*where))
    return Rows(tuple(rows), total or 0, write_cursor(rows[-1]["id"]) if more else None)


async def change(unit: Unit, schedule_id: UUID, values: Mapping[str, Any]) -> None:
    """Set some columns."""
    await unit.connection.execute(update(Schedule).where(Schedule.id == schedule_id).values(**values))


async def remove(unit: Unit, account_id: UUID, schedule_id: UUID) -> bool:
    """Delete a schedule with its ticks; whether there was one. The runs that it started stay."""
    done = await unit.connection.execute(
        delete(Schedule).where(Schedule.id == schedule_id, Schedule.account_id == account_id)
    )
    return bool(done.rowcount)


async def ticks(unit: Unit, schedule_id: UUID, page: Page) -> Rows[RowMapping]:
    """List what became of a schedule's planned times, newest first."""
    where = [ScheduleTick.schedule_id == schedule_id]
    query = (
        select(*ScheduleTick.__table__.columns)
        .where(*where)
        .order_by(ScheduleTick.id.desc())
        .limit(page.take + 1)
        .offset(page.skip)
    )
    if page.cursor is not None:
        query = query.where(ScheduleTick.id < page.cursor)
    rows, more = cut((await unit.connection.execute(query)).mappings().all(), page)
    total = await unit.connection.scalar(select(func.count()).select_from(ScheduleTick).where(*where))
    return Rows(tuple(rows), total or 0, write_cursor(rows[-1]["id"]) if more else None)


async def pass_over(unit: Unit, schedule_id: UUID, reason: str) -> None:
    """Give up the planned time that still waits, because the schedule is another one now."""
    await unit.connection.execute(
        update(ScheduleTick)
        .where(ScheduleTick.schedule_id == schedule_id, ScheduleTick.status == "waiting")
        .values(status="missed", reason=reason)
    )


def _viewed() -> Any:
    return (
        select(*_VIEW)
        .join(Integration, Integration.id == _TABLE.c.integration_id)
        .outerjoin(Run, Run.id == _TABLE.c.last_run_id)
    )
