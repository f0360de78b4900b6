"""Agents: one an integration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, func, select, update

from proctor_store.conflicts import conflicts
from proctor_store.inserting import insert_for
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.session import Unit
from proctor_store.tables import Integration, PromptVersion, TestAgent

__all__ = ["AgentRecord", "SeenAgent", "change", "create", "get", "listed", "of_integration", "seen"]

_COLUMNS = (
    TestAgent.id,
    TestAgent.account_id,
    TestAgent.integration_id,
    TestAgent.name,
    TestAgent.current_version_id,
    TestAgent.default_provider,
    TestAgent.default_model,
    TestAgent.created_at,
    TestAgent.updated_at,
)


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """An agent; defaults are what its runs and comparisons take when they name nothing."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    name: str
    current_version_id: UUID | None
    default_provider: str | None
    default_model: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SeenAgent:
    """An agent, what is current of it, and whether its integration's prompt is another one by now."""

    agent: AgentRecord
    version_number: int | None
    version_source: str | None
    version_created_at: datetime | None
    prompt_differs: bool


async def create(unit: Unit, agent: AgentRecord) -> bool:
    """Add an agent unless its integration has one; whether it was added.

    Raises:
        Vanished: when the integration is gone.
    """
    statement = insert_for(unit.dialect, TestAgent).on_conflict_do_nothing(index_elements=["integration_id"])
    with conflicts({}):
        done = await unit.connection.execute(statement.values(**asdict(agent)))
    return bool(done.rowcount)


async def get(unit: Unit, account_id: UUID, agent_id: UUID, *, lock: bool = False) -> AgentRecord | None:
    """Read an agent of the account; with `lock`, others who change it or its versions wait (PostgreSQL)."""
    query = select(*_COLUMNS).where(TestAgent.id == agent_id, TestAgent.account_id == account_id)
    if lock:
        query = query.with_for_update()
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else AgentRecord(**found)


async def of_integration(unit: Unit, account_id: UUID, integration_id: UUID) -> AgentRecord | None:
    """Read the agent of an integration of the account."""
    query = select(*_COLUMNS).where(
        TestAgent.integration_id == integration_id, TestAgent.account_id == account_id
    )
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else AgentRecord(**found)


async def seen(unit: Unit, account_id: UUID, agent_id: UUID) -> SeenAgent | None:
    """Read an agent with its current version."""
    query = _seeing(account_id).where(TestAgent.id == agent_id)
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else _seen(found)


async def listed(unit: Unit, account_id: UUID, page: Page) -> Rows[SeenAgent]:
    """List the account's agents with their current versions, newest first."""
    query = _seeing(account_id).order_by(TestAgent.id.desc()).limit(page.take + 1).offset(page.skip)
    if page.cursor is not None:
        query = query.where(TestAgent.id < page.cursor)
    rows, more = cut((await unit.connection.execute(query)).mappings().all(), page)
    total = await unit.connection.scalar(
        select(func.count()).select_from(TestAgent).where(TestAgent.account_id == account_id)
    )
    return Rows(tuple(map(_seen, rows)), total or 0, write_cursor(rows[-1]["id"]) if more else None)


async def change(unit: Unit, agent_id: UUID, values: Mapping[str, Any]) -> None:
    """Set some columns."""
    await unit.connection.execute(update(TestAgent).where(TestAgent.id == agent_id).values(**values))


def _seeing(account_id: UUID) -> Any:
    return (
        select(
            *_COLUMNS,
            PromptVersion.version_number,
            PromptVersion.source.label("version_source"),
            PromptVersion.created_at.label("version_created_at"),
            (PromptVersion.prompt != Integration.agent_prompt).label("prompt_differs"),
        )
        .join(Integration, Integration.id == TestAgent.integration_id)
        .outerjoin(PromptVersion, PromptVersion.id == TestAgent.current_version_id)
        .where(TestAgent.account_id == account_id)
    )


def _seen(row: RowMapping) -> SeenAgent:
    return SeenAgent(
        agent=AgentRecord(**{name: row[name] for name in AgentRecord.__slots__}),
        version_number=row["version_number"],
        version_source=row["version_source"],
        version_created_at=row["version_created_at"],
        prompt_differs=bool(row["prompt_differs"]),
    )
