"""Captured conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select, update

from proctor_store.conflicts import conflicts
from proctor_store.inserting import insert_for
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.searching import has_tag
from proctor_store.session import Unit
from proctor_store.tables import CapturedConversation

__all__ = ["CaptureQuery", "CaptureRecord", "change", "create", "get", "known", "listed", "remove"]

_TABLE = CapturedConversation.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRecord:
    """A capture; `transcript` and `metadata` are the wire form."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    source: str
    external_id: str | None
    status: str
    transcript: list[dict[str, Any]]
    metadata: dict[str, Any] | None
    tags: list[str]
    flagged_reason: str | None
    created_at: datetime
    updated_at: datetime
    converted_case_id: UUID | None = None
    converted_at: datetime | None = None
    idempotency_key: str | None = None
    idempotency_hash: str | None = None


_NAMES = tuple(one.name for one in fields(CaptureRecord))
_COLUMNS = tuple(_TABLE.c[name] for name in _NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureQuery:
    """Which captures; every given condition must hold."""

    integration_id: UUID | None = None
    status: str | None = None
    source: str | None = None
    external_id: str | None = None
    tag: str | None = None

    def conditions(self, account_id: UUID, *, dialect: str) -> list[ColumnElement[bool]]:
        """The query as SQL conditions."""
        where = [CapturedConversation.account_id == account_id]
        where.extend(
            _TABLE.c[column] == value
            for column in ("integration_id", "status", "source", "external_id")
            if (value := getattr(self, column)) is not None
        )
        if self.tag is not None:
            where.append(has_tag(CapturedConversation.tags, self.tag, dialect=dialect))
        return where


async def create(unit: Unit, capture: CaptureRecord) -> bool:
    """Add a capture; False when its external id or idempotency key is there already, and nothing is written.

    Raises:
        Vanished: when the integration is gone.
    """
    values = {_TABLE.c[name]: getattr(capture, name) for name in _NAMES}
    with conflicts({}):
        done = await unit.connection.execute(
            insert_for(unit.dialect, CapturedConversation)
            .values(values)
            .on_conflict_do_nothing()
            .returning(_TABLE.c.id)
        )
    return done.first() is not None


async def known(
    unit: Unit,
    *,
    account_id: UUID,
    integration_id: UUID,
    external_id: str | None,
    idempotency_key: str | None,
) -> CaptureRecord | None:
    """Read the capture that has this idempotency key in the account, else this external id."""
    for value, where in (
        (idempotency_key, (_TABLE.c.account_id == account_id, _TABLE.c.idempotency_key == idempotency_key)),
        (external_id, (_TABLE.c.integration_id == integration_id, _TABLE.c.external_id == external_id)),
    ):
        if value is None:
            continue
        found = (await unit.connection.execute(select(*_COLUMNS).where(*where))).first()
        if found is not None:
            return _record(found)
    return None


async def get(unit: Unit, account_id: UUID, capture_id: UUID, *, lock: bool = False) -> CaptureRecord | None:
    """Read one capture of the account; with `lock`, another writer of it waits (PostgreSQL)."""
    query = select(*_COLUMNS).where(_TABLE.c.id == capture_id, _TABLE.c.account_id == account_id)
    if lock:
        query = query.with_for_update()
    found = (await unit.connection.execute(query)).first()
    return None if found is None else _record(found)


async def listed(
    unit: Unit, account_id: UUID, query: CaptureQuery, page: Page, *, most_characters: int
) -> Rows[CaptureRecord]:
    """List the account's captures, newest first; a page also ends where its transcripts grow too long.

    It always holds at least one row; `most_characters` bounds the rest.
    """
    where = query.conditions(account_id, dialect=unit.dialect)
    sizes = (
        select(_TABLE.c.id, func.length(_TABLE.c.transcript).label("characters"))
        .where(*where)
        .order_by(_TABLE.c.id.desc())
        .limit(page.take + 1)
        .offset(page.skip)
    )
    if page.cursor is not None:
        sizes = sizes.where(_TABLE.c.id < page.cursor)
    found, more = cut((await unit.connection.execute(sizes)).all(), page)
    total = await unit.connection.scalar(select(func.count()).select_from(_TABLE).where(*where))
    characters = 0
    kept: list[UUID] = []
    for row in found:
        characters += row.characters
        if kept and characters > most_characters:
            more = True
            break
        kept.append(row.id)
    rows = (
        await unit.connection.execute(
            select(*_COLUMNS).where(_TABLE.c.id.in_(kept)).order_by(_TABLE.c.id.desc())
        )
    ).all()
    return Rows(tuple(map(_record, rows)), total or 0, write_cursor(kept[-1]) if more else None)


async def change(unit: Unit, capture_id: UUID, values: Mapping[str, Any]) -> None:
    """Set some columns.

    Raises:
        Vanished: when the case that it should point at is gone.
    """
    with conflicts({}):
        await unit.connection.execute(
            update(CapturedConversation).where(CapturedConversation.id == capture_id).values(**values)
        )


async def remove(unit: Unit, account_id: UUID, capture_id: UUID) -> bool:
    """Delete a capture; whether there was one."""
    done = await unit.connection.execute(
        delete(CapturedConversation).where(
            CapturedConversation.id == capture_id, CapturedConversation.account_id == account_id
        )
    )
    return bool(done.rowcount)


def _record(row: Any) -> CaptureRecord:
    return CaptureRecord(**dict(zip(_NAMES, row, strict=True)))
