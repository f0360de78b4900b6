"""Messages waiting for the broker, those it will never take, and claims of periodic work."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Created
from proctor_store.columns import BigId, Guid, Moment

__all__ = ["Claim", "OutboxDeadRow", "OutboxRow"]


class OutboxRow(Created, Base):
    """A message written in the transaction that decided it; the relay publishes and deletes it."""

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_run_id", "run_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    run_id: Mapped[UUID | None] = mapped_column(Guid)
    exchange: Mapped[str] = mapped_column(String(64))
    key: Mapped[str] = mapped_column(String(128))
    message_id: Mapped[str] = mapped_column(String(256))
    body: Mapped[str] = mapped_column(Text)


class OutboxDeadRow(Created, Base):
    """A message that could not be published, with the reason; its case has ended in `error`."""

    __tablename__ = "outbox_dead"
    __table_args__ = (Index("ix_outbox_dead_created_at", "created_at"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    run_id: Mapped[UUID | None] = mapped_column(Guid)
    exchange: Mapped[str] = mapped_column(String(64))
    key: Mapped[str] = mapped_column(String(128))
    message_id: Mapped[str] = mapped_column(String(256))
    body: Mapped[str] = mapped_column(Text)
    reason: Mapped[str] = mapped_column(Text)


class Claim(Base):
    """Who does a piece of periodic work, and until when; one row a kind of work."""

    __tablename__ = "claims"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    owner: Mapped[str] = mapped_column(String(128))
    until: Mapped[datetime] = mapped_column(Moment)
