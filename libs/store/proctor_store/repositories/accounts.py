"""Accounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.session import Unit
from proctor_store.tables import Account

__all__ = ["AccountRecord", "change", "create", "every", "get", "named"]

_COLUMNS = (
    Account.id,
    Account.name,
    Account.balance_micro,
    Account.max_concurrent_cases,
    Account.runs_per_minute,
    Account.created_at,
    Account.keeps_personal_data,
)


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """An account; None means unlimited. Money is micro-USD."""

    id: UUID
    name: str
    balance_micro: int | None
    max_concurrent_cases: int | None
    runs_per_minute: int | None
    created_at: datetime
    keeps_personal_data: bool = False


async def create(unit: Unit, account: AccountRecord) -> None:
    """Add an account.

    Raises:
        Duplicate: when the name is taken.
    """
    with conflicts({"name": "name"}):
        await unit.connection.execute(
            insert(Account).values(
                id=account.id,
                name=account.name,
                balance_micro=account.balance_micro,
                max_concurrent_cases=account.max_concurrent_cases,
                runs_per_minute=account.runs_per_minute,
                created_at=account.created_at,
                keeps_personal_data=account.keeps_personal_data,
            )
        )


async def get(unit: Unit, account_id: UUID) -> AccountRecord | None:
    """Read an account by its id."""
    return await _one(unit, Account.id == account_id)


async def named(unit: Unit, name: str) -> AccountRecord | None:
    """Read an account by its name."""
    return await _one(unit, Account.name == name)


async def every(unit: Unit) -> tuple[AccountRecord, ...]:
    """Read all accounts, oldest first."""
    found = await unit.connection.execute(select(*_COLUMNS).order_by(Account.id))
    return tuple(AccountRecord(**row) for row in found.mappings())


async def change(unit: Unit, account_id: UUID, values: Mapping[str, Any]) -> None:
    """Set some columns of an account."""
    await unit.connection.execute(update(Account).where(Account.id == account_id).values(**values))


async def _one(unit: Unit, condition: Any) -> AccountRecord | None:
    found = (await unit.connection.execute(select(*_COLUMNS).where(condition))).mappings().first()
    return None if found is None else AccountRecord(**found)
