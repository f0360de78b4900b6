"""Test cases as users keep them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, delete, func, insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.paging import Page, Rows, cut, write_cursor
from proctor_store.searching import exact, has_tag, text_contains
from proctor_store.session import Unit
from proctor_store.tables import TestCase

__all__ = [
    "CaseIdentity",
    "CaseQuery",
    "CaseRecord",
    "by_ids",
    "change",
    "create",
    "existing",
    "get",
    "identities",
    "known_as",
    "listed",
    "matching",
    "remove",
]

_TAKEN = {"integration_id_ref": "ref", "test_cases.ref": "ref"}
_ALL_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """A case; `input`, `assertions`, `reference` and `budget` are the wire form (camelCase)."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    revision: int
    ref: str | None
    name: str
    category: str
    priority: str
    input: dict[str, Any]
    assertions: list[dict[str, Any]]
    rubric: str | None
    weight: int
    threshold: int | None
    tags: list[str]
    is_active: bool
    critical: bool
    retry_policy: str | None
    reference: dict[str, Any] | None
    budget: dict[str, Any] | None
    search_text: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CaseIdentity:
    """What tells a case from others of its integration, and its revision from other ones."""

    id: UUID
    ref: str | None
    name: str
    revision: int


_NAMES = tuple(one.name for one in fields(CaseRecord))
_COLUMNS = tuple(TestCase.__table__.c[name] for name in _NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseQuery:
    """Which cases; every given condition must hold. `category` is compared after NFC and trim."""

    integration_id: UUID | None = None
    category: str | None = None
    priority: str | None = None
    is_active: bool | None = None
    tags: Collection[str] = field(default=())
    refs: Collection[str] | None = None
    text: str | None = None

    def conditions(self, account_id: UUID, *, dialect: str) -> list[ColumnElement[bool]]:
        """The query as SQL conditions."""
        where: list[ColumnElement[bool]] = [TestCase.account_id == account_id]
        if self.integration_id is not None:
            where.append(TestCase.integration_id == self.integration_id)
        if self.category is not None:
            where.append(TestCase.category == exact(self.category))
        if self.priority is not None:
            where.append(TestCase.priority == self.priority)
        if self.is_active is not None:
            where.append(TestCase.is_active.is_(self.is_active))
        if self.refs is not None:
            where.append(TestCase.ref.in_([exact(ref) for ref in self.refs]))
        if self.text is not None:
            where.append(text_contains(TestCase.search_text, self.text))
        where.extend(has_tag(TestCase.tags, tag, dialect=dialect) for tag in self.tags)
        return where


async def create(unit: Unit, cases: Sequence[CaseRecord]) -> None:
    """Add cases, all in one statement.

    Raises:
        Duplicate: when a ref is taken in its integration.
        Vanished: when the integration is gone.
    """
    if not cases:
        return
    rows = [{name: getattr(case, name) for name in _NAMES} for case in cases]
    with conflicts(_TAKEN):
        await unit.connection.execute(insert(TestCase), rows)


async def change(unit: Unit, cases: Sequence[CaseRecord]) -> None:
    """Write cases over their stored selves, all in one statement.

    Raises:
        Duplicate: when a ref is taken in its integration.
    """
    if not cases:
        return
    changing = [name for name in _NAMES if name not in {"id", "account_id", "integration_id", "created_at"}]
    statement = (
        update(TestCase.__table__)  # type: ignore[arg-type]  # declared wider than the Table it is
        .where(TestCase.__table__.c.id == bindparam("row_id"))
        .values({name: bindparam(f"new_{name}") for name in changing})
    )
    rows = [
        {"row_id": case.id} | {f"new_{name}": getattr(case, name) for name in changing}
        for case in sorted(cases, key=lambda case: case.id)
    ]
    with conflicts(_TAKEN):
        await unit.connection.execute(statement, rows)


async def get(unit: Unit, account_id: UUID, case_id: UUID, *, lock: bool = False) -> CaseRecord | None:
    """Read one case of the account; with `lock`, another writer of it waits (PostgreSQL)."""
    query = select(*_COLUMNS).where(TestCase.id == case_id, TestCase.account_id == account_id)
    if lock:
        query = query.with_for_update()
    found = (await unit.connection.execute(query)).first()
    return None if found is None else CaseRecord(*found)


async def listed(unit: Unit, account_id: UUID, query: CaseQuery, page: Page) -> Rows[CaseRecord]:
    """List the account's cases, newest first."""
    where = query.conditions(account_id, dialect=unit.dialect)
    statement = (
        select(*_COLUMNS).where(*where).order_by(TestCase.id.desc()).limit(page.take + 1).offset(page.skip)
    )
    if page.cursor is not None:
        statement = statement.where(TestCase.id < page.cursor)
    rows, more = cut((await unit.connection.execute(statement)).all(), page)
    total = await unit.connection.scalar(select(func.count()).select_from(TestCase).where(*where))
    return Rows(
        tuple(CaseRecord(*row) for row in rows), total or 0, write_cursor(rows[-1].id) if more else None
    )


async def matching(unit: Unit, account_id: UUID, query: CaseQuery) -> tuple[UUID, ...]:
    """List every case that a run's filter takes, oldest first."""
    where = query.conditions(account_id, dialect=unit.dialect)
    found = await unit.connection.execute(select(TestCase.id).where(*where).order_by(TestCase.id))
    return tuple(found.scalars())


async def existing(unit: Unit, account_id: UUID, integration_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Say which of these cases the integration has."""
    found: set[UUID] = set()
    for start in range(0, len(ids), _ALL_AT_ONCE):
        rows = await unit.connection.execute(
            select(TestCase.id).where(
                TestCase.id.in_(ids[start : start + _ALL_AT_ONCE]),
                TestCase.account_id == account_id,
                TestCase.integration_id == integration_id,
            )
        )
        found.update(rows.scalars())
    return found


async def by_ids(
    unit: Unit, account_id: UUID, integration_id: UUID, ids: Sequence[UUID]
) -> Mapping[UUID, CaseRecord]:
    """Read these cases of one integration; ids that are not there are left out."""
    found: dict[UUID, CaseRecord] = {}
    for start in range(0, len(ids), _ALL_AT_ONCE):
        rows = await unit.connection.execute(
            select(*_COLUMNS).where(
                TestCase.id.in_(ids[start : start + _ALL_AT_ONCE]),
                TestCase.account_id == account_id,
                TestCase.integration_id == integration_id,
            )
        )
        found |= {row.id: CaseRecord(*row) for row in rows}
    return found


async def identities(unit: Unit, integration_id: UUID) -> tuple[CaseIdentity, ...]:
    """Read what an integration's cases are called, oldest first."""
    found = await unit.connection.execute(
        select(TestCase.id, TestCase.ref, TestCase.name, TestCase.revision)
        .where(TestCase.integration_id == integration_id)
        .order_by(TestCase.id)
    )
    return tuple(CaseIdentity(*row) for row in found)


async def known_as(
    unit: Unit, integration_id: UUID, *, refs: Collection[str], names: Collection[str]
) -> tuple[CaseRecord, ...]:
    """Read the integration's cases with one of these refs or exactly one of these names, oldest first."""
    found: dict[UUID, CaseRecord] = {}
    for column, values in ((TestCase.ref, sorted(refs)), (TestCase.name, sorted(names))):
        for start in range(0, len(values), _ALL_AT_ONCE):
            rows = await unit.connection.execute(
                select(*_COLUMNS).where(
                    TestCase.integration_id == integration_id,
                    column.in_(values[start : start + _ALL_AT_ONCE]),
                )
            )
            found |= {row.id: CaseRecord(*row) for row in rows}
    return tuple(found[case_id] for case_id in sorted(found))


async def remove(unit: Unit, account_id: UUID, case_id: UUID) -> bool:
    """Delete a case; whether there was one. Runs keep the case as they took it."""
    done = await unit.connection.execute(
        delete(TestCase).where(TestCase.id == case_id, TestCase.account_id == account_id)
    )
    return bool(done.rowcount)
