"""What only somebody with the database may do: accounts, their keys, migrations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID

from proctor_contracts.enums import KeyKind
from proctor_contracts.schemas.integrations import KeyCreate, KeyCreated, KeyView
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade
from proctor_store.paging import MAX_TAKE, Page, read_cursor
from proctor_store.session import Database

from .auth import Caller
from .errors import not_found
from .usecases.accounts import UNCHANGED, AccountLimits, Accounts, AccountView, Unchanged
from .usecases.keys import Keys

__all__ = [
    "UNCHANGED",
    "AccountView",
    "create_account",
    "create_key",
    "list_accounts",
    "list_keys",
    "migrate",
    "revoke_key",
    "set_account",
]


async def migrate(database_url: str) -> bool:
    """Bring a database to the newest schema; whether anything had to be done.

    Raises:
        StoreUnavailable: when the database is away, as from every function here.
    """
    return await upgrade(database_url)


async def create_account(
    database_url: str,
    name: str,
    *,
    balance_cents: int | None = None,
    max_concurrent: int | None = None,
    runs_per_minute: int | None = None,
    keeps_personal_data: bool = False,
) -> AccountView:
    """Make an account; a limit of None means unlimited.

    Raises:
        ApiError: 400 for a bad name or limit, 409 for a name taken.
    """
    limits = AccountLimits(
        balance_cents=balance_cents,
        max_concurrent=max_concurrent,
        runs_per_minute=runs_per_minute,
        keeps_personal_data=keeps_personal_data,
    )
    async with _open(database_url) as database:
        return await Accounts(database=database, clock=_now).create(name, limits)


async def list_accounts(database_url: str) -> tuple[AccountView, ...]:
    """List every account, oldest first."""
    async with _open(database_url) as database:
        return await Accounts(database=database, clock=_now).list()


async def set_account(
    database_url: str,
    name: str,
    *,
    balance_cents: int | Unchanged | None = UNCHANGED,
    max_concurrent: int | Unchanged | None = UNCHANGED,
    runs_per_minute: int | Unchanged | None = UNCHANGED,
    keeps_personal_data: bool | Unchanged = UNCHANGED,
) -> AccountView:
    """Change limits of an account; None means unlimited, UNCHANGED leaves a limit as it is.

    Raises:
        ApiError: 404 for an unknown account, 400 for a bad limit.
    """
    limits = AccountLimits(
        balance_cents=balance_cents,
        max_concurrent=max_concurrent,
        runs_per_minute=runs_per_minute,
        keeps_personal_data=keeps_personal_data,
    )
    async with _open(database_url) as database:
        return await Accounts(database=database, clock=_now).set(name, limits)


async def create_key(
    database_url: str, account: str, *, kind: KeyKind = KeyKind.PRIVATE, name: str = "key"
) -> KeyCreated:
    """Make a key for the account of this name; it is shown this once.

    Raises:
        ApiError: 404 for an unknown account.
        ValidationError: for a name that is empty or too long.
    """
    body = KeyCreate(kind=kind, name=name)
    async with _open(database_url) as database:
        return await Keys(database=database, clock=_now).create(await _caller(database, account), body)


async def list_keys(database_url: str, account: str) -> tuple[KeyView, ...]:
    """List the living keys of an account, newest first.

    Raises:
        ApiError: 404 for an unknown account.
    """
    async with _open(database_url) as database:
        return await _keys(database, await _caller(database, account))


async def revoke_key(database_url: str, account: str, key: str) -> KeyView:
    """End a key, given by its id or by the prefix that lists show; processes that know it forget it in 5 s.

    Raises:
        ApiError: 404 for an unknown account, or when not exactly one key is meant.
    """
    async with _open(database_url) as database:
        caller = await _caller(database, account)
        found = [one for one in await _keys(database, caller) if key in {str(one.id), one.prefix}]
        if len(found) != 1:
            raise not_found(f"key as {key!r}")
        await Keys(database=database, clock=_now).revoke(caller, found[0].id)
        return found[0]


async def _keys(database: Database, caller: Caller) -> tuple[KeyView, ...]:
    keys = Keys(database=database, clock=_now)
    found: list[KeyView] = []
    cursor: UUID | None = None
    while True:
        listing = await keys.list(caller, Page(take=MAX_TAKE, cursor=cursor))
        found.extend(listing.data)
        if listing.meta.next_cursor is None:
            return tuple(found)
        cursor = read_cursor(listing.meta.next_cursor)


async def _caller(database: Database, account: str) -> Caller:
    return Caller((await Accounts(database=database, clock=_now).named(account)).id)


@asynccontextmanager
async def _open(database_url: str) -> AsyncIterator[Database]:
    database = Database(create_engine(database_url, pool_size=1, overflow=0))
    try:
        yield database
    finally:
        await database.close()


def _now() -> datetime:
    return datetime.now(UTC)
