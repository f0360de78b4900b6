"""Engines for PostgreSQL and SQLite that behave alike."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from .inline_sqlite import DRIVER, register

__all__ = ["async_url", "create_engine"]

BUSY_TIMEOUT_MS = 5_000
"""How long a statement may wait for another process; the loop waits with it, so it is short."""


def async_url(url: str) -> str:
    """Name the async driver of a database URL: `postgresql://` and `sqlite:///` are accepted as they are."""
    parsed = make_url(url)
    driver = {
        "postgresql": "postgresql+asyncpg",
        "postgres": "postgresql+asyncpg",
        "sqlite": DRIVER,
    }
    return parsed.set(drivername=driver.get(parsed.drivername, parsed.drivername)).render_as_string(
        hide_password=False
    )


def create_engine(
    url: str, *, pool_size: int = 10, overflow: int = 10, transaction_pooler: bool = False
) -> AsyncEngine:
    """Open an engine.

    Nothing relies on a PostgreSQL session, so a pooler in transaction mode may stand between:
    `transaction_pooler` then turns prepared statements off, which cannot outlive a transaction there. SQLite
    runs in WAL with BEGIN IMMEDIATE, so a read-then-write transaction never fails half-way.
    """
    url = async_url(url)
    if url.startswith("sqlite"):
        return _sqlite(url)
    connect: dict[str, Any] = {"timeout": 5, "command_timeout": 60}
    if transaction_pooler:
        connect |= {
            "statement_cache_size": 0,
            "prepared_statement_cache_size": 0,
            "prepared_statement_name_func": lambda: f"__proctor_{uuid4()}__",
        }
    return create_async_engine(
        url,
        pool_size=pool_size,
        max_overflow=overflow,
        pool_timeout=10,
        pool_pre_ping=True,
        connect_args=connect,
        hide_parameters=True,
    )


def _sqlite(url: str) -> AsyncEngine:
    register()
    engine = create_async_engine(
        url,
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "check_same_thread": False},
        # What stands in rows may be somebody's data, and the text of an error ends up in logs.
        hide_parameters=True,
    )

    @event.listens_for(engine.sync_engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        # The driver's own transaction handling would start transactions late and deferred.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            "cache_size=-4000",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Any) -> None:
        reading = connection.get_execution_options().get("proctor_reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine
