"""Inserts that leave a row alone which is already there, in the words of each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert
    from sqlalchemy.orm import DeclarativeBase

__all__ = ["insert_for"]


def insert_for(dialect: str, table: type[DeclarativeBase]) -> Insert:
    """Begin an insert that knows `on_conflict_do_nothing`; both dialects spell it alike.

    The dialect is imported on use: PostgreSQL's costs a command on SQLite a tenth of its start.
    """
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert  # noqa: PLC0415 - see above
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]  # noqa: PLC0415 - the same words
    return insert(table)
