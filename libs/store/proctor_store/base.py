"""The declarative base: one naming convention, so that migrations and models agree on every name."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sqlalchemy import MetaData
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from .columns import Moment

__all__ = ["Base", "Created", "Updated"]


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
