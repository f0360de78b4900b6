"""Alerts as they were decided."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select

from proctor_store.columns import Written
from proctor_store.conflicts import conflicts
from proctor_store.inserting import insert_for
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.session import Unit
from proctor_store.tables import Alert

__all__ = ["AlertQuery", "AlertRecord", "create", "get", "listed", "of_run"]

_TABLE = Alert.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRecord:
    """An alert; `payload` is the wire form, `untold` says why nobody was told."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    run_id: UUID
    schedule_id: UUID | None
    kind: str
    occasion: str
    verdict: str | None
    payload: dict[str, Any]
    untold: str | None
    created_at: datetime


_COLUMNS = tuple(_TABLE.c[one.name] for one in fields(AlertRecord))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertQuery:
    """Which alerts; every given condition must hold."""

    integration_id: UUID | None = None
    kind: str | None = None
    run_id: UUID | None = None
    schedule_id: UUID | None = None


async def create(unit: Unit, alert: AlertRecord, *, written: str) -> bool:
    """Keep an alert, its payload as it was `written`; False when there is one of this kind and occasion.

    Raises:
        Vanished: when the integration is gone.
    """
    values = asdict(alert) | {"payload": Written(written)}
    with conflicts({}):
        done = await unit.connection.execute(
            insert_for(unit.dialect, Alert)
            .values(values)
            .on_conflict_do_nothing(index_elements=["run_id", "kind", "occasion"])
        )
    return done.rowcount == 1


async def get(unit: Unit, account_id: UUID, alert_id: UUID) -> AlertRecord | None:
    """Read one alert of the account."""
    query = select(*_COLUMNS).where(_TABLE.c.id == alert_id, _TABLE.c.account_id == account_id)
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else AlertRecord(**found)


async def of_run(unit: Unit, account_id: UUID, run_id: UUID) -> tuple[AlertRecord, ...]:
    """Read every alert of a run of the account, oldest first."""
    query = (
        select(*_COLUMNS)
        .where(_TABLE.c.run_id == run_id, _TABLE.c.account_id == account_id)
        .order_by(_TABLE.c.id)
    )
    return tuple(AlertRecord(**row) for row in (await unit.connection.execute(query)).mappings())


async def listed(unit: Unit, account_id: UUID, query: AlertQuery, page: Page) -> Rows[AlertRecord]:
    """List the account's alerts, newest first."""
    given = {name: value for name, value in asdict(query).items() if value is not None}
    where = [_TABLE.c.account_id == account_id, *(_TABLE.c[name] == value for name, value in given.items())]
    rows = select(*_COLUMNS).where(*where).order_by(_TABLE.c.id.desc()).limit(page.take + 1).offset(page.skip)
    if page.cursor is not None:
        rows = rows.where(_TABLE.c.id < page.cursor)
    found, more = cut((await unit.connection.execute(rows)).mappings().all(), page)
    total = await unit.connection.scalar(select(func.count()).select_from(_TABLE).where(*where))
    return Rows(
        tuple(AlertRecord(**row) for row in found),
        total or 0,
        write_cursor(found[-1]["id"]) if more else None,
    )
