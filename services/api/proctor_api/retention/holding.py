"""One replica at a time: the claim that every batch renews, and what ends the work when it is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from proctor_store.repositories import claims
from proctor_store.session import Database, Unit

__all__ = ["LEASE", "Elsewhere", "Holding"]

WORK = "retention"
LEASE = timedelta(minutes=5)
"""Longer than the longest pause between two batches: a part of an export on its way to a slow bucket."""


class Elsewhere(Exception):
    """Another replica does this work now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Transactions that only the replica with the claim may make."""

    database: Database
    clock: Callable[[], datetime]
    owner: str

    @asynccontextmanager
    async def batch(self) -> AsyncIterator[Unit]:
        """Open a transaction that renews the claim.

        Raises:
            Elsewhere: when another replica has it.
            StoreUnavailable: when the database is away.
        """
        async with self.database.transaction() as unit:
            if not await claims.claim(unit, WORK, owner=self.owner, now=self.clock(), lease=LEASE):
                raise Elsewhere
            yield unit

    async def keep(self) -> None:
        """Renew the claim while work goes on that needs no transaction.

        Raises:
            Elsewhere: when another replica has it.
        """
        async with self.batch():
            pass
