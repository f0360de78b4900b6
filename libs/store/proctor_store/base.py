"""The declarative base: one naming convention, so that migrations and models agree on every name."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Index, MetaData, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from .columns import Moment

__all__ = ["Base", "Created", "Updated", "partial_index"]


class Base(DeclarativeBase):
    """Every table of Proctor."""

    metadata: ClassVar[MetaData] = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Created:
    """When the row was made."""

    created_at: Mapped[datetime] = mapped_column(Moment)


class Updated(Created):
    """When the row was made and last changed."""

    updated_at: Mapped[datetime] = mapped_column(Moment)


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index over some rows only, on both databases.

    PostgreSQL's half is kept in `info`, from where migrations take it: naming it here would load its dialect,
    which costs every command on the embedded database a fifteenth of its start.
    """
    return Index(name, *columns, unique=unique, sqlite_where=text(where), info={"where": where})
