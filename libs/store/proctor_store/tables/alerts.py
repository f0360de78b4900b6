"""What was seen in a run against the runs before, what was told of it, and to whom."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Created, Updated, partial_index
from proctor_store.columns import Guid, JsonText, Moment

__all__ = ["Alert", "AlertDelivery", "DeliveryAttempt", "RunLook"]


class RunLook(Updated, Base):
    """The look at one completed run; the key makes a message that comes again change nothing.

    `state` is settled, asked (a confirming rerun was asked for) or refused (it cannot be, `reason` says why).
    `findings` holds what is known of each category, `confirm` the categories that the rerun is for.
    """

    __tablename__ = "run_looks"
    __table_args__ = (
        partial_index("ix_run_looks_asked", "updated_at", where="state <> 'settled'"),
        partial_index("ix_run_looks_settled", "updated_at", where="state = 'settled'"),
    )

    run_id: Mapped[UUID] = mapped_column(ForeignKey("test_runs.id", ondelete="CASCADE"), primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    state: Mapped[str] = mapped_column(String(16))
    findings: Mapped[Any] = mapped_column(JsonText)
    baseline_run_ids: Mapped[Any] = mapped_column(JsonText)
    model_changes: Mapped[Any] = mapped_column(JsonText)
    confirm: Mapped[Any] = mapped_column(JsonText)
    confirming_run_id: Mapped[UUID | None] = mapped_column(Guid)
    reason: Mapped[str | None] = mapped_column(Text)


class Alert(Created, Base):
    """Something worth telling; `untold` says why nobody was told.

    `occasion` is the end of the `run` itself or of the `rerun` that was to confirm what was suspected of it;
    one of a kind for each. It outlives its run, so `run_id` bears no foreign key.
    """

    __tablename__ = "alerts"
    __table_args__ = (
        UniqueConstraint("run_id", "kind", "occasion"),
        Index("ix_alerts_account_id_id", "account_id", "id"),
        Index("ix_alerts_created_at", "created_at"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    run_id: Mapped[UUID] = mapped_column(Guid)
    schedule_id: Mapped[UUID | None] = mapped_column(Guid)
    kind: Mapped[str] = mapped_column(String(24))
    occasion: Mapped[str] = mapped_column(String(8))
    verdict: Mapped[str | None] = mapped_column(String(16))
    payload: Mapped[Any] = mapped_column(JsonText)
    untold: Mapped[str | None] = mapped_column(Text)


class AlertDelivery(Updated, Base):
    """One receiver of an alert and the bytes it gets, the same at every try.

    `source` says where the URL and its secret are read when they are needed: `environment` or `integration`;
    `target` is that URL without what may be secret in it.
    """

    __tablename__ = "alert_deliveries"
    __table_args__ = (
        Index("ix_alert_deliveries_alert_id", "alert_id"),
        partial_index("ix_alert_deliveries_due", "next_attempt_at", where="state = 'pending'"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    alert_id: Mapped[UUID] = mapped_column(ForeignKey("alerts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(Guid)
    source: Mapped[str] = mapped_column(String(16))
    target: Mapped[str] = mapped_column(Text)
    format: Mapped[str] = mapped_column(String(8))
    body: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16))
    tries: Mapped[int] = mapped_column(Integer, default=0)
    next_attempt_at: Mapped[datetime | None] = mapped_column(Moment)
    claimed_until: Mapped[datetime | None] = mapped_column(Moment)


class DeliveryAttempt(Base):
    """One try of a delivery: the receiver's status, or why there is none."""

    __tablename__ = "delivery_attempts"

    delivery_id: Mapped[UUID] = mapped_column(
        ForeignKey("alert_deliveries.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    at: Mapped[datetime] = mapped_column(Moment)
    duration_ms: Mapped[int] = mapped_column(Integer)
    status: Mapped[int | None] = mapped_column(Integer)
    error: Mapped[str | None] = mapped_column(String(64))
    detail: Mapped[str | None] = mapped_column(Text)
