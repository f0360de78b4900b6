"""Work on a database itself: accounts, keys, tables."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pydantic import ValidationError

from proctor_api import admin
from proctor_api.admin import AccountView
from proctor_api.errors import ApiError
from proctor_api.local import problem_of
from proctor_api.usecases.accounts import Unchanged
from proctor_cli.client import PlatformRefused, PlatformUnavailable
from proctor_cli.exits import ExitCode, Stop
from proctor_contracts.enums import KeyKind
from proctor_contracts.schemas.integrations import KeyCreated, KeyView
from proctor_store.session import StoreUnavailable

__all__ = ["AccountView", "Administration", "Limit"]

T = TypeVar("T")
Limit = int | str | None
"""A limit: a number, `unlimited`, or None to leave it as it is."""


class Administration:
    """Changes accounts and keys in the database behind a URL."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url

    def migrate(self) -> bool:
        """Bring the tables up to date; whether anything had to be done."""
        return _done(lambda: admin.migrate(self._url))

    def create_account(
        self, name: str, limits: dict[str, Limit], *, keeps_personal_data: bool | None = None
    ) -> AccountView:
        """Make an account; what is not limited is unlimited."""
        given = {key: value if isinstance(value, int) else None for key, value in limits.items()}
        return _done(
            lambda: admin.create_account(
                self._url, name, keeps_personal_data=bool(keeps_personal_data), **given
            )
        )

    def set_account(
        self, name: str, limits: dict[str, Limit], *, keeps_personal_data: bool | None = None
    ) -> AccountView:
        """Change what is given."""
        given = {key: _changed(value) for key, value in limits.items()}
        keeps = admin.UNCHANGED if keeps_personal_data is None else keeps_personal_data
        return _done(lambda: admin.set_account(self._url, name, keeps_personal_data=keeps, **given))

    def accounts(self) -> tuple[AccountView, ...]:
        """List every account."""
        return _done(lambda: admin.list_accounts(self._url))

    def create_key(self, account: str, kind: KeyKind, name: str) -> KeyCreated:
        """Make a key."""
        return _done(lambda: admin.create_key(self._url, account, kind=kind, name=name))

    def keys(self, account: str) -> tuple[KeyView, ...]:
        """List the keys of an account."""
        return _done(lambda: admin.list_keys(self._url, account))

    def revoke_key(self, account: str, key: str) -> KeyView:
        """End a key, named by id or prefix."""
        return _done(lambda: admin.revoke_key(self._url, account, key))


def _changed(value: Limit) -> int | Unchanged | None:
    if value is None:
        return admin.UNCHANGED
    return value if isinstance(value, int) else None


def _done(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    try:
        return asyncio.run(work())
    except ApiError as error:
        raise PlatformRefused(problem_of(error)) from error
    except ValidationError as error:
        raise Stop(ExitCode.USAGE, error.errors()[0]["msg"]) from error
    except StoreUnavailable as error:
        raise PlatformUnavailable(f"the database is away or PROCTOR_DATABASE_URL wrong: {error}") from error
