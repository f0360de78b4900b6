"""Who is asking: a bearer key, its account, and what the key may do."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from proctor_contracts.enums import KeyKind
from proctor_store.repositories import keys
from proctor_store.session import Database, StoreUnavailable

from .errors import forbidden, unauthorized

__all__ = ["Authenticator", "Caller", "key_digest", "private_only"]

REMEMBERED_SECONDS = 5.0
NOTED_EVERY_SECONDS = 60.0
_LONGEST_KEY = 256
_MOST_REMEMBERED = 10_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """The account that asks, and the kind of key it asked with; `key_id` is None inside the process."""

    account_id: UUID
    kind: KeyKind = KeyKind.PRIVATE
    key_id: UUID | None = None


def key_digest(key: str) -> str:
    """The SHA-256 of a key, as it is stored."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def private_only(caller: Caller) -> Caller:
    """Let only private keys pass.

    Raises:
        ApiError: 403 for a public key.
    """
    if caller.kind is not KeyKind.PRIVATE:
        raise forbidden(
            "a public key may only read runs, results and events and push captures; use a private key"
        )
    return caller


class Authenticator:
    """Tells callers from their `Authorization` header.

    A key that was found is remembered for five seconds, so a revoked key ends at once in the process that
    revoked it and within five seconds in other replicas. `last_used_at` is written at most once a minute,
    beside the request.
    """

    def __init__(
        self, *, database: Database, clock: Callable[[], datetime], monotonic: Callable[[], float]
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, Caller]] = {}
        self._noted: dict[UUID, float] = {}
        self._writing: set[asyncio.Task[None]] = set()

    async def authenticate(self, authorization: str | None) -> Caller:
        """Find the caller.

        Raises:
            ApiError: 401 without a bearer key that exists.
            StoreUnavailable: when the database is away.
        """
        scheme, _, key = (authorization or "").strip().partition(" ")
        key = key.strip()
        if scheme.casefold() != "bearer" or not key:
            raise unauthorized("send an API key as `Authorization: Bearer sk_…`")
        if len(key) > _LONGEST_KEY:
            raise unauthorized("this API key is not known")
        digest = key_digest(key)
        now = self._monotonic()
        remembered = self._known.get(digest)
        if remembered is not None and now - remembered[0] < REMEMBERED_SECONDS:
            return remembered[1]
        async with self._database.reading() as unit:
            found = await keys.by_hash(unit, digest)
        if found is None:
            self._known.pop(digest, None)
            raise unauthorized("this API key is not known or was revoked")
        caller = Caller(found.account_id, KeyKind(found.kind), found.id)
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[digest] = (now, caller)
        self._note(found.id, now)
        return caller

    def forget(self, key_id: UUID) -> None:
        """Stop recognising a key at once, as when it was revoked."""
        self._known = {digest: known for digest, known in self._known.items() if known[1].key_id != key_id}

    async def aclose(self) -> None:
        """Wait for notes that are being written."""
        await asyncio.gather(*self._writing, return_exceptions=True)

    def _note(self, key_id: UUID, now: float) -> None:
        last = self._noted.get(key_id)
        if last is not None and now - last < NOTED_EVERY_SECONDS:
            return
        if len(self._noted) >= _MOST_REMEMBERED:
            self._noted.clear()
        self._noted[key_id] = now
        task = asyncio.get_running_loop().create_task(self._write_note(key_id))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write_note(self, key_id: UUID) -> None:
        try:
            async with self._database.transaction() as unit:
                await keys.touch(unit, key_id, now=self._clock())
        except StoreUnavailable:
            _log.debug("key_use_not_noted", extra={"key_id": str(key_id)})
