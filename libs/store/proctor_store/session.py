"""The unit of work: one request or message is one transaction, and this is the only place that commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

__all__ = ["Database", "StoreUnavailable", "Unit"]


class StoreUnavailable(Exception):
    """The database cannot be reached; nothing was written, trying again later is right."""

    code = "database_unavailable"


class Unit:
    """An open transaction: repositories run on its connection.

    Hooks given to `after_commit` run once it is durable.
    """

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
    """An engine with its transaction boundary.

    SQLite has one writer: writers of this process queue here, fairly, instead of polling the file's lock.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._writer = asyncio.Lock() if engine.dialect.name == "sqlite" else None

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
        async with _outages(), AsyncExitStack() as stack:
            if self._writer is not None:
                await stack.enter_async_context(self._writer)
            async with self.engine.connect() as connection:
                unit = Unit(connection)
                yield unit
                await connection.commit()
        unit.committed()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Unit]:
        """Open a transaction that only reads; on SQLite it waits for no writer.

        Raises:
            StoreUnavailable: when the database is away.
        """
        async with _outages(), self.engine.connect() as connection:
            yield Unit(await connection.execution_options(proctor_reading=True))

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()


@asynccontextmanager
async def _outages() -> AsyncIterator[None]:
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated or _passes(error):
            raise StoreUnavailable(str(error)) from error
        raise
    except (PoolTimeout, OSError, TimeoutError) as error:
        raise StoreUnavailable(str(error)) from error


def _passes(error: DBAPIError) -> bool:
    """Whether the same work can succeed later: the statement was right, the database was not there for it.

    SQLite tells a wrong statement from a locked or unreadable file by its error name. PostgreSQL: gone (class
    08), short of resources (53), stopping or starting (57P), a lost race with another transaction (40).
    """
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state).startswith(("08", "40", "53", "57P"))
    name = getattr(error.orig, "sqlite_errorname", None)
    return isinstance(error, OperationalError) and name != "SQLITE_ERROR"
