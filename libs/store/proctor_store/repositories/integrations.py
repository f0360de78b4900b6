"""Integrations: the bots under test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.session import Unit
from proctor_store.tables import Integration

__all__ = ["IntegrationRecord", "change", "create", "get", "listed", "named", "owner", "remove"]

_TAKEN = {"account_id_name": "name", "integrations.name": "name"}
_COLUMNS = (
    Integration.id,
    Integration.account_id,
    Integration.name,
    Integration.agent_prompt,
    Integration.platform_assistant_id,
    Integration.provider,
    Integration.model,
    Integration.endpoint,
    Integration.locale,
    Integration.created_at,
    Integration.updated_at,
    Integration.alerts,
)


@dataclass(frozen=True, slots=True)
class IntegrationRecord:
    """An integration; `endpoint` and `alerts` are the wire forms (camelCase)."""

    id: UUID
    account_id: UUID
    name: str
    agent_prompt: str
    platform_assistant_id: str | None
    provider: str
    model: str | None
    endpoint: dict[str, Any] | None
    locale: str | None
    created_at: datetime
    updated_at: datetime
    alerts: dict[str, Any] | None = None


async def create(unit: Unit, integration: IntegrationRecord) -> None:
    """Add an integration.

    Raises:
        Duplicate: when the account has one of this name.
        Vanished: when the account is gone.
    """
    with conflicts(_TAKEN):
        await unit.connection.execute(insert(Integration).values(**asdict(integration)))


async def get(
    unit: Unit, account_id: UUID, integration_id: UUID, *, lock: bool = False
) -> IntegrationRecord | None:
    """Read an integration of the account; with `lock`, whoever else changes its parts waits (PostgreSQL)."""
    query = select(*_COLUMNS).where(Integration.id == integration_id, Integration.account_id == account_id)
    if lock:
        query = query.with_for_update()
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else IntegrationRecord(**found)


async def named(unit: Unit, account_id: UUID, name: str) -> IntegrationRecord | None:
    """Read the account's integration of this name."""
    query = select(*_COLUMNS).where(Integration.account_id == account_id, Integration.name == name)
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else IntegrationRecord(**found)


async def listed(
    unit: Unit, account_id: UUID, page: Page, *, name: str | None = None
) -> Rows[IntegrationRecord]:
    """List the account's integrations, newest first."""
    where = [Integration.account_id == account_id]
    if name is not None:
        where.append(Integration.name == name)
    query = (
        select(*_COLUMNS).where(*where).order_by(Integration.id.desc()).limit(page.take + 1).offset(page.skip)
    )
    if page.cursor is not None:
        query = query.where(Integration.id < page.cursor)
    found = (await unit.connection.execute(query)).mappings().all()
    rows, more = cut(found, page)
    total = await unit.connection.scalar(select(func.count()).select_from(Integration).where(*where))
    return Rows(
        tuple(IntegrationRecord(**row) for row in rows),
        total or 0,
        write_cursor(rows[-1]["id"]) if more else None,
    )


async def change(unit: Unit, integration_id: UUID, values: Mapping[str, Any]) -> None:
    """Set some columns.

    Raises:
        Duplicate: when the account has another one of this name.
    """
    with conflicts(_TAKEN):
        await unit.connection.execute(
            update(Integration).where(Integration.id == integration_id).values(**values)
        )


async def remove(unit: Unit, account_id: UUID, integration_id: UUID) -> bool:
    """Delete an integration with everything of it; whether there was one."""
    done = await unit.connection.execute(
        delete(Integration).where(Integration.id == integration_id, Integration.account_id == account_id)
    )
    return bool(done.rowcount)


async def owner(unit: Unit, integration_id: UUID) -> UUID | None:
    """Say whose an integration is, for what comes without a key; None when there is none."""
    found: UUID | None = await unit.connection.scalar(
        select(Integration.account_id).where(Integration.id == integration_id)
    )
    return found
