"""Bringing a database to the newest schema, safely with several replicas starting at once."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, insert, inspect, select, text

from .base import Base
from .engine import create_engine
from .session import Database, StoreUnavailable

__all__ = ["HEAD", "upgrade", "upgrade_database", "version", "wait_until_current"]

HEAD = "0004"
"""The newest revision in migrations/versions."""

_log = logging.getLogger(__name__)
_LOCK = 0x50524F43  # any number, the same in every replica
_versions = Table(
    "alembic_version", MetaData(), Column("version_num", String(32), primary_key=True, nullable=False)
)


async def upgrade(url: str) -> bool:
    """Bring the database at `url` to the newest schema; whether anything had to be done.

    Raises:
        StoreUnavailable: when the database is away.
    """
    database = Database(create_engine(url, pool_size=1, overflow=0))
    try:
        return await upgrade_database(database)
    finally:
        await database.close()


async def upgrade_database(database: Database) -> bool:
    """As `upgrade`, on an open database: one transaction, so a failed migration leaves nothing behind."""
    async with database.transaction() as unit:
        return await unit.connection.run_sync(_upgrade)


async def version(database: Database) -> str | None:
    """The revision a database is at; None when it holds no schema of ours."""
    async with database.transaction() as unit:
        return await unit.connection.run_sync(_current)


async def wait_until_current(
    database: Database, *, sleep: Callable[[float], Awaitable[None]], every_seconds: float = 1.0
) -> None:
    """Return once the database is there with the newest schema, which another process brings; log once."""
    told = False
    while True:
        try:
            found = await version(database)
            if found is not None and found >= HEAD:
                return
            seen = (
                f"the schema is at {found or 'nothing'}, {HEAD} is needed: start the API or proctor migrate"
            )
        except StoreUnavailable as error:
            seen = str(error)
        if not told:
            _log.warning("database_not_ready", extra={"reason": seen})
            told = True
        await sleep(every_seconds)


def _upgrade(connection: Connection) -> bool:
    if connection.dialect.name == "postgresql":
        # Held to the end of the transaction, so it works behind a pooler in transaction mode too.
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    current = _current(connection)
    if current == HEAD:
        return False
    if current is None and connection.dialect.name == "sqlite":
        _create(connection)
    else:
        _run_migrations(connection)
    return True


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_versions.name):
        return None
    return connection.execute(select(_versions.c.version_num)).scalar()


def _create(connection: Connection) -> None:
    """Make a fresh embedded database straight from the models; a test holds them equal to the migrations."""
    from . import tables  # noqa: F401, PLC0415 - registers every table, and costs time only when needed

    Base.metadata.create_all(connection)
    _versions.create(connection, checkfirst=True)
    connection.execute(insert(_versions).values(version_num=HEAD))


def _run_migrations(connection: Connection) -> None:
    # Alembic is slow to import and absent from the embedded runtime, where a fresh database does without it.
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above

    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)  # it names each of its plugins
    config = Config()
    location = str(Path(__file__).with_name("migrations"))
    config.set_main_option("script_location", location.replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
