"""SQLite on the event loop's own thread.

A driver thread costs a hop and a wake-up for each of the ten statements of a batch, which is more than
SQLite needs to carry them out: with WAL and one writer a statement takes tens of microseconds and a commit
waits for no disk. So the embedded database runs in the loop, and the hops are gone.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import AsyncAdaptedQueuePool, Pool
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL
from sqlalchemy.util import await_
from typing_extensions import override

__all__ = ["DRIVER", "InlineSqlite", "register"]

DRIVER = "sqlite+inline"


async def _at_once() -> None:
    """Satisfy the engine, which insists that an asynchronous driver awaits something."""


class _Cursor(sqlite3.Cursor):
    """A cursor that the asynchronous engine may close when it has read everything."""

    server_side = False

    async def _async_soft_close(self) -> None:
        """Let go of nothing: the rows are in memory."""


class _Connection(sqlite3.Connection):
    """A connection whose cursors are ours."""

    @override
    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)


class InlineSqlite(SQLiteDialect_pysqlite):
    """The standard library's SQLite behind SQLAlchemy's asynchronous engine, without a thread."""

    driver = "inline"
    is_async = True
    supports_statement_cache = True

    @classmethod
    @override
    def get_pool_class(cls, url: URL) -> type[Pool]:
        return AsyncAdaptedQueuePool

    @override
    def connect(self, *arguments: Any, **options: Any) -> Any:
        return super().connect(*arguments, factory=_Connection, **options)

    @override
    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        await_(_at_once())
        cursor.execute(statement, parameters)

    @override
    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        await_(_at_once())
        cursor.executemany(statement, parameters)

    @override
    def get_driver_connection(self, connection: Any) -> Any:
        return connection


def register() -> None:
    """Make `sqlite+inline://` known to SQLAlchemy."""
    registry.register("sqlite.inline", __name__, InlineSqlite.__name__)
