"""Schedules and what became of each of their planned times."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Created, Updated, partial_index
from proctor_store.columns import Guid, JsonText, Moment

__all__ = ["Schedule", "ScheduleTick"]


class Schedule(Updated, Base):
    """A clock for one integration's runs.

    `next_run_at` was computed from `counted_from`, so that rules of time zones that have changed since then
    are noticed; `counted_local` is what the zone's clock showed then if that was a planned time, null after
    an edit. `last_run_id` bears no foreign key, and `last_run_status` stands beside it: runs are deleted
    before their schedules.
    """

    __tablename__ = "test_schedules"
    __table_args__ = (
        Index("ix_test_schedules_account_id_id", "account_id", "id"),
        Index("ix_test_schedules_integration_id", "integration_id"),
        partial_index("ix_test_schedules_due", "next_run_at", where="is_active"),
        partial_index("ix_test_schedules_waiting", "account_id", where="waiting_for IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(128))
    cron_expression: Mapped[str] = mapped_column(String(256))
    timezone: Mapped[str] = mapped_column(String(64))
    mode: Mapped[Any] = mapped_column(JsonText)
    notifications: Mapped[Any] = mapped_column(JsonText)
    is_active: Mapped[bool] = mapped_column(Boolean)
    waiting_for: Mapped[str | None] = mapped_column(String(16))
    counted_from: Mapped[datetime] = mapped_column(Moment)
    counted_local: Mapped[str | None] = mapped_column(String(32))
    next_run_at: Mapped[datetime | None] = mapped_column(Moment)
    last_run_at: Mapped[datetime | None] = mapped_column(Moment)
    last_run_id: Mapped[UUID | None] = mapped_column(Guid)
    last_run_status: Mapped[str | None] = mapped_column(String(16))


class ScheduleTick(Created, Base):
    """One planned time of a schedule; the key on both makes two replicas fire it once.

    `fires` counts the messages sent for it, which is more than one when the run had to be put off or did not
    come; `fired_at` is when it left waiting, `asked_at` when the last of them was written. `missed` counts
    the planned times before it that it stands for.
    """

    __tablename__ = "schedule_ticks"
    __table_args__ = (
        UniqueConstraint("schedule_id", "planned_at"),
        Index("ix_schedule_ticks_account_id_fired_at", "account_id", "fired_at"),
        Index("ix_schedule_ticks_created_at", "created_at"),
        partial_index("ix_schedule_ticks_open", "schedule_id", where="status IN ('waiting', 'fired')"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    schedule_id: Mapped[UUID] = mapped_column(ForeignKey("test_schedules.id", ondelete="CASCADE"))
    planned_at: Mapped[datetime] = mapped_column(Moment)
    planned_local: Mapped[str] = mapped_column(String(32))
    status: Mapped[str] = mapped_column(String(16))
    fires: Mapped[int] = mapped_column(Integer, default=0)
    missed: Mapped[int] = mapped_column(Integer, default=0)
    fired_at: Mapped[datetime | None] = mapped_column(Moment)
    asked_at: Mapped[datetime | None] = mapped_column(Moment)
    run_id: Mapped[UUID | None] = mapped_column(Guid)
    reason: Mapped[str | None] = mapped_column(Text)
