"""Accounts: made and changed by whoever has the database, never over REST."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final
from uuid import UUID

from proctor_api.errors import bad_request, conflict, not_found
from proctor_contracts.base import unstorable
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.common import FieldProblem
from proctor_store.conflicts import Duplicate
from proctor_store.repositories import accounts
from proctor_store.session import Database

__all__ = ["UNCHANGED", "AccountLimits", "AccountView", "Accounts", "Unchanged"]

MICRO_PER_CENT = 10_000
LONGEST_NAME = 128
_MOST_CENTS = 10**12
_MOST = 2**31 - 1


class Unchanged(Enum):
    """The mark of a limit that stays as it is, since None means unlimited."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLimits:
    """What to set; None means unlimited, UNCHANGED leaves it.

    `keeps_personal_data` is about captures: without it placeholders stand for what was said.
    """

    balance_cents: int | Unchanged | None = UNCHANGED
    max_concurrent: int | Unchanged | None = UNCHANGED
    runs_per_minute: int | Unchanged | None = UNCHANGED
    keeps_personal_data: bool | Unchanged = UNCHANGED


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account; None means unlimited."""

    id: UUID
    name: str
    balance_cents: float | None
    max_concurrent: int | None
    runs_per_minute: int | None
    created_at: datetime
    keeps_personal_data: bool = False


class Accounts:
    """Creates, lists and limits accounts."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def create(self, name: str, limits: AccountLimits) -> AccountView:
        """Make an account.

        Raises:
            ApiError: 400 for a bad name or limit, 409 for a name that is taken.
        """
        name = name.strip()
        if not name or len(name) > LONGEST_NAME or unstorable(name):
            message = f"should be 1 to {LONGEST_NAME} characters, none of them NUL"
            raise bad_request([FieldProblem(path="name", message=message)])
        columns = _columns(limits)
        record = accounts.AccountRecord(
            id=new_id(),
            name=name,
            balance_micro=columns.get("balance_micro"),
            max_concurrent_cases=columns.get("max_concurrent_cases"),
            runs_per_minute=columns.get("runs_per_minute"),
            created_at=self._clock(),
            keeps_personal_data=bool(columns.get("keeps_personal_data")),
        )
        try:
            async with self._database.transaction() as unit:
                await accounts.create(unit, record)
        except Duplicate as error:
            raise conflict(f"there is an account called {name!r}", field=error.field) from error
        return _view(record)

    async def list(self) -> tuple[AccountView, ...]:
        """List all accounts, oldest first."""
        async with self._database.reading() as unit:
            return tuple(_view(record) for record in await accounts.every(unit))

    async def named(self, name: str) -> AccountView:
        """Read the account of this name.

        Raises:
            ApiError: 404 when there is none.
        """
        async with self._database.reading() as unit:
            found = await accounts.named(unit, name.strip())
        if found is None:
            raise not_found(f"account as {name!r}")
        return _view(found)

    async def owning(self, account_id: UUID, owner: str | None) -> None:
        """Make sure that `owner`, an id or a name, is this account; None is.

        Raises:
            ApiError: 404 for any other, whether there is one or not.
        """
        if owner is None or owner == str(account_id):
            return
        async with self._database.reading() as unit:
            found = await accounts.get(unit, account_id)
        if found is None or found.name != owner.strip():
            raise not_found(f"account as {owner!r}")

    async def set(self, name: str, limits: AccountLimits) -> AccountView:
        """Change limits of the account of this name.

        Raises:
            ApiError: 404 when there is none, 400 for a bad limit.
        """
        columns = _columns(limits)
        async with self._database.transaction() as unit:
            found = await accounts.named(unit, name.strip())
            if found is None:
                raise not_found(f"account as {name!r}")
            if columns:
                await accounts.change(unit, found.id, columns)
                found = await accounts.get(unit, found.id) or found
        return _view(found)


def _columns(limits: AccountLimits) -> dict[str, int | None]:
    columns: dict[str, int | None] = {}
    if limits.balance_cents is not UNCHANGED:
        cents = _checked("balanceCents", limits.balance_cents, low=-_MOST_CENTS, high=_MOST_CENTS)
        columns["balance_micro"] = None if cents is None else cents * MICRO_PER_CENT
    if limits.max_concurrent is not UNCHANGED:
        columns["max_concurrent_cases"] = _checked(
            "maxConcurrentCases", limits.max_concurrent, low=1, high=_MOST
        )
    if limits.runs_per_minute is not UNCHANGED:
        columns["runs_per_minute"] = _checked("runsPerMinute", limits.runs_per_minute, low=0, high=_MOST)
    if limits.keeps_personal_data is not UNCHANGED:
        columns["keeps_personal_data"] = limits.keeps_personal_data
    return columns


def _checked(field: str, value: int | None, *, low: int, high: int) -> int | None:
    if value is not None and not low <= value <= high:
        raise bad_request([FieldProblem(path=field, message=f"should be from {low} to {high}")])
    return value


def _view(record: accounts.AccountRecord) -> AccountView:
    balance = record.balance_micro
    return AccountView(
        id=record.id,
        name=record.name,
        balance_cents=None if balance is None else balance / MICRO_PER_CENT,
        max_concurrent=record.max_concurrent_cases,
        runs_per_minute=record.runs_per_minute,
        created_at=record.created_at,
        keeps_personal_data=record.keeps_personal_data,
    )
