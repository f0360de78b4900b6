"""The unit of work: one request or message is one transaction, and this is the only place that commits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

__all__ = ["Database", "StoreUnavailable", "Unit"]


class StoreUnavailable(Exception):
    """The database cannot be reached; nothing was written, trying again later is right."""

    code = "database_unavailable"


class Unit:
    """An open transaction: repositories run on its connection, and `after_commit` hooks run once it is durable."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self._after: list[Callable[[], None]] = []

    @property
    def dialect(self) -> str:
        """The database's name: `postgresql` or `sqlite`."""
        return self.connection.dialect.name

    def after_commit(self, hook: Callable[[], None]) -> None:
        """Call `hook` once the transaction is durable, such as waking the relay."""
        self._after.append(hook)

    def committed(self) -> None:
        """Run the hooks."""
        for hook in self._after:
            hook()


class Database:
    """An engine with its transaction boundary."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @property
    def dialect(self) -> str:
        """The database's name: `postgresql` or `sqlite`."""
        return self.engine.dialect.name

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Unit]:
        """Open a transaction, commit it at the end, roll it back on any error.

        Raises:
            StoreUnavailable: when the database is away.
        """
        try:
            async with self.engine.connect() as connection:
                unit = Unit(connection)
                yield unit
                await connection.commit()
        except (OperationalError, OSError, TimeoutError) as error:
            raise StoreUnavailable(str(error)) from error
        except DBAPIError as error:
            if error.connection_invalidated:
                raise StoreUnavailable(str(error)) from error
            raise
        unit.committed()

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()
