"""API keys, known by their hash."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.session import Unit
from proctor_store.tables import ApiKey

__all__ = ["KeyRecord", "by_hash", "create", "listed", "revoke", "touch"]

_COLUMNS = (
    ApiKey.id,
    ApiKey.account_id,
    ApiKey.kind,
    ApiKey.name,
    ApiKey.prefix,
    ApiKey.hash,
    ApiKey.created_at,
    ApiKey.last_used_at,
)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key that has not been revoked."""

    id: UUID
    account_id: UUID
    kind: str
    name: str
    prefix: str
    hash: str
    created_at: datetime
    last_used_at: datetime | None = None


async def create(unit: Unit, key: KeyRecord) -> None:
    """Add a key.

    Raises:
        Vanished: when the account is gone.
    """
    with conflicts({}):
        await unit.connection.execute(
            insert(ApiKey).values(
                id=key.id,
                account_id=key.account_id,
                kind=key.kind,
                name=key.name,
                prefix=key.prefix,
                hash=key.hash,
                created_at=key.created_at,
            )
        )


async def by_hash(unit: Unit, digest: str) -> KeyRecord | None:
    """Find the living key of a SHA-256 digest (64 hex characters)."""
    query = select(*_COLUMNS).where(ApiKey.hash == digest, ApiKey.revoked_at.is_(None))
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else KeyRecord(**found)


async def listed(unit: Unit, account_id: UUID, page: Page) -> Rows[KeyRecord]:
    """List the account's living keys, newest first."""
    where = (ApiKey.account_id == account_id, ApiKey.revoked_at.is_(None))
    query = select(*_COLUMNS).where(*where).order_by(ApiKey.id.desc()).limit(page.take + 1).offset(page.skip)
    if page.cursor is not None:
        query = query.where(ApiKey.id < page.cursor)
    found = (await unit.connection.execute(query)).mappings().all()
    rows, more = cut(found, page)
    total = await unit.connection.scalar(select(func.count()).select_from(ApiKey).where(*where))
    return Rows(
        tuple(KeyRecord(**row) for row in rows), total or 0, write_cursor(rows[-1]["id"]) if more else None
    )


async def revoke(unit: Unit, account_id: UUID, key_id: UUID, *, now: datetime) -> bool:
    """Revoke a key; whether there was a living one."""
    done = await unit.connection.execute(
        update(ApiKey)
        .where(ApiKey.id == key_id, ApiKey.account_id == account_id, ApiKey.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    return bool(done.rowcount)


async def touch(unit: Unit, key_id: UUID, *, now: datetime) -> None:
    """Note that a key was used."""
    await unit.connection.execute(update(ApiKey).where(ApiKey.id == key_id).values(last_used_at=now))
