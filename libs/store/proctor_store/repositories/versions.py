"""Versions of an agent's prompt: written once, numbered without a gap."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.session import Unit
from proctor_store.tables import PromptVersion

__all__ = ["VersionRecord", "create", "get", "last_number", "listed", "mark_exported"]

_COLUMNS = (
    PromptVersion.id,
    PromptVersion.account_id,
    PromptVersion.agent_id,
    PromptVersion.version_number,
    PromptVersion.prompt,
    PromptVersion.source,
    PromptVersion.is_immutable,
    PromptVersion.created_at,
    PromptVersion.updated_at,
    PromptVersion.parent_version_id,
    PromptVersion.platform_version,
    PromptVersion.platform_synced_at,
    PromptVersion.generation_context,
    PromptVersion.exported_to_platform_at,
    PromptVersion.notes,
    PromptVersion.created_by,
)


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """A version of a prompt."""

    id: UUID
    account_id: UUID
    agent_id: UUID
    version_number: int
    prompt: str
    source: str
    is_immutable: bool
    created_at: datetime
    updated_at: datetime
    parent_version_id: UUID | None = None
    platform_version: str | None = None
    platform_synced_at: datetime | None = None
    generation_context: str | None = None
    exported_to_platform_at: datetime | None = None
    notes: str | None = None
    created_by: str | None = None


async def last_number(unit: Unit, agent_id: UUID) -> int:
    """The number of the agent's newest version, 0 without any; only true while the agent is locked."""
    query = select(func.max(PromptVersion.version_number)).where(PromptVersion.agent_id == agent_id)
    return await unit.connection.scalar(query) or 0


async def create(unit: Unit, version: VersionRecord) -> None:
    """Add a version.

    Raises:
        Duplicate: when its number is taken.
        Vanished: when the agent is gone.
    """
    taken = {"agent_id_version_number": "versionNumber", "prompt_versions.version_number": "versionNumber"}
    with conflicts(taken):
        await unit.connection.execute(insert(PromptVersion).values(**asdict(version)))


async def get(unit: Unit, account_id: UUID, version_id: UUID) -> VersionRecord | None:
    """Read a version of the account."""
    query = select(*_COLUMNS).where(PromptVersion.id == version_id, PromptVersion.account_id == account_id)
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else VersionRecord(**found)


async def listed(unit: Unit, agent_id: UUID, page: Page, *, number: int | None = None) -> Rows[VersionRecord]:
    """List an agent's versions, newest first; `number` keeps the one that has it."""
    where = [PromptVersion.agent_id == agent_id]
    if number is not None:
        where.append(PromptVersion.version_number == number)
    query = (
        select(*_COLUMNS)
        .where(*where)
        .order_by(PromptVersion.version_number.desc())
        .limit(page.take + 1)
        .offset(page.skip)
    )
    if page.cursor is not None:
        # Numbers tell the order; ids need not, when two replicas' clocks differ.
        last = select(PromptVersion.version_number).where(PromptVersion.id == page.cursor)
        query = query.where(PromptVersion.version_number < last.scalar_subquery())
    rows, more = cut((await unit.connection.execute(query)).mappings().all(), page)
    total = await unit.connection.scalar(select(func.count()).select_from(PromptVersion).where(*where))
    return Rows(
        tuple(VersionRecord(**row) for row in rows),
        total or 0,
        write_cursor(rows[-1]["id"]) if more else None,
    )


async def mark_exported(unit: Unit, version_id: UUID, *, now: datetime) -> None:
    """Note that a version was pasted into the platform."""
    await unit.connection.execute(
        update(PromptVersion)
        .where(PromptVersion.id == version_id)
        .values(exported_to_platform_at=now, updated_at=now)
    )
