"""API keys: shown once, stored as a hash."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller, key_digest
from proctor_api.errors import not_found
from proctor_contracts.enums import KeyKind
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.common import Listing, Meta
from proctor_contracts.schemas.integrations import KeyCreate, KeyCreated, KeyView
from proctor_store.conflicts import Vanished
from proctor_store.paging import Page, Rows
from proctor_store.repositories import keys
from proctor_store.session import Database

__all__ = ["Keys"]

_BYTES = 32
_SHOWN = 11
_PREFIXES = {KeyKind.PRIVATE: "sk_", KeyKind.PUBLIC: "pk_"}


class Keys:
    """Makes, lists and revokes the keys of an account; `revoked` hears of ids that end."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Callable[[], datetime],
        revoked: Callable[[UUID], None] = lambda _key: None,
        random: Callable[[], str] = lambda: secrets.token_urlsafe(_BYTES),
    ) -> None:
        self._database = database
        self._clock = clock
        self._revoked = revoked
        self._random = random

    async def create(self, caller: Caller, body: KeyCreate) -> KeyCreated:
        """Make a key; the answer is the only place that shows it.

        Raises:
            ApiError: 404 when the account is gone.
        """
        key = _PREFIXES[body.kind] + self._random()
        record = keys.KeyRecord(
            id=new_id(),
            account_id=caller.account_id,
            kind=body.kind,
            name=body.name,
            prefix=key[:_SHOWN],
            hash=key_digest(key),
            created_at=self._clock(),
        )
        try:
            async with self._database.transaction() as unit:
                await keys.create(unit, record)
        except Vanished as error:
            raise not_found("account") from error
        return KeyCreated(**_fields(record), key=key)

    async def list(self, caller: Caller, page: Page) -> Listing[KeyView]:
        """List the account's living keys, newest first."""
        async with self._database.reading() as unit:
            rows: Rows[keys.KeyRecord] = await keys.listed(unit, caller.account_id, page)
        return Listing[KeyView](
            data=tuple(KeyView(**_fields(record)) for record in rows.items),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def revoke(self, caller: Caller, key_id: UUID) -> None:
        """End a key.

        Raises:
            ApiError: 404 when the account has no such key, or has revoked it before.
        """
        async with self._database.transaction() as unit:
            if not await keys.revoke(unit, caller.account_id, key_id, now=self._clock()):
                raise not_found("key")
        self._revoked(key_id)


def _fields(record: keys.KeyRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "kind": record.kind,
        "name": record.name,
        "prefix": record.prefix,
        "created_at": record.created_at,
        "last_used_at": record.last_used_at,
    }
