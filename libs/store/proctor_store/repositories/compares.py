"""Comparisons: one set of cases against a matrix of cells, each of which is a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, func, insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.session import Unit
from proctor_store.tables import CompareRun, Integration, Run

__all__ = ["CompareRecord", "by_idempotency_key", "change", "create", "get", "listed", "runs_of"]


@dataclass(frozen=True, slots=True)
class CompareRecord:
    """A comparison; `matrix`, `settings` and `warnings` are the wire form, `run_ids` are texts."""

    id: UUID
    account_id: UUID
    agent_id: UUID
    integration_id: UUID
    matrix: list[dict[str, Any]]
    case_ids: list[str]
    settings: dict[str, Any]
    status: str
    run_ids: list[str]
    baseline: int
    budget_micro: int | None
    warnings: list[dict[str, Any]]
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    idempotency_key: str | None = None
    idempotency_hash: str | None = None


_COLUMNS = tuple(CompareRun.__table__.c[name] for name in CompareRecord.__slots__)


async def create(unit: Unit, compare: CompareRecord) -> None:
    """Add a comparison.

    Raises:
        Vanished: when its agent is gone.
    """
    with conflicts({}):
        await unit.connection.execute(insert(CompareRun).values(**asdict(compare)))


async def get(unit: Unit, account_id: UUID, compare_id: UUID) -> CompareRecord | None:
    """Read a comparison of the account."""
    query = select(*_COLUMNS).where(CompareRun.id == compare_id, CompareRun.account_id == account_id)
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else CompareRecord(**found)


async def by_idempotency_key(unit: Unit, account_id: UUID, key: str) -> CompareRecord | None:
    """Read the comparison that this key started before."""
    query = select(*_COLUMNS).where(CompareRun.account_id == account_id, CompareRun.idempotency_key == key)
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else CompareRecord(**found)


async def listed(
    unit: Unit, account_id: UUID, page: Page, *, agent_id: UUID | None, integration_id: UUID | None
) -> Rows[CompareRecord]:
    """List the account's comparisons, newest first; every given condition must hold."""
    where = [CompareRun.account_id == account_id]
    if agent_id is not None:
        where.append(CompareRun.agent_id == agent_id)
    if integration_id is not None:
        where.append(CompareRun.integration_id == integration_id)
    query = (
        select(*_COLUMNS).where(*where).order_by(CompareRun.id.desc()).limit(page.take + 1).offset(page.skip)
    )
    if page.cursor is not None:
        query = query.where(CompareRun.id < page.cursor)
    rows, more = cut((await unit.connection.execute(query)).mappings().all(), page)
    total = await unit.connection.scalar(select(func.count()).select_from(CompareRun).where(*where))
    return Rows(
        tuple(CompareRecord(**row) for row in rows),
        total or 0,
        write_cursor(rows[-1]["id"]) if more else None,
    )


async def runs_of(unit: Unit, compare_ids: Collection[UUID]) -> Mapping[UUID, Sequence[RowMapping]]:
    """Read the runs of some comparisons, by comparison."""
    query = (
        select(*Run.__table__.columns, Integration.name.label("integration_name"))
        .join(Integration, Integration.id == Run.integration_id)
        .where(Run.compare_run_id.in_(list(compare_ids)), Run.deleted_at.is_(None))
        .order_by(Run.id)
    )
    found: dict[UUID, list[RowMapping]] = {one: [] for one in compare_ids}
    for row in (await unit.connection.execute(query)).mappings():
        found[row["compare_run_id"]].append(row)
    return found


async def change(unit: Unit, compare_id: UUID, values: Mapping[str, Any]) -> None:
    """Set some columns."""
    await unit.connection.execute(update(CompareRun).where(CompareRun.id == compare_id).values(**values))
