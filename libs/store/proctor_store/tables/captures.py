"""Conversations captured in production."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Updated, partial_index
from proctor_store.columns import Guid, JsonText, Moment

__all__ = ["CapturedConversation"]


class CapturedConversation(Updated, Base):
    """A conversation that somebody should look at; one row for each external id of an integration."""

    __tablename__ = "captured_conversations"
    __table_args__ = (
        partial_index(
            "uq_captured_conversations_integration_id_external_id",
            "integration_id",
            "external_id",
            unique=True,
            where="external_id IS NOT NULL",
        ),
        UniqueConstraint("account_id", "idempotency_key"),
        Index("ix_captured_conversations_account_id_id", "account_id", "id"),
        Index("ix_captured_conversations_integration_id_status_id", "integration_id", "status", "id"),
        Index("ix_captured_conversations_converted_case_id", "converted_case_id"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    source: Mapped[str] = mapped_column(String(16))
    external_id: Mapped[str | None] = mapped_column(String(256))
    status: Mapped[str] = mapped_column(String(16))
    transcript: Mapped[Any] = mapped_column(JsonText)
    details: Mapped[Any] = mapped_column("metadata", JsonText, nullable=True)
    tags: Mapped[Any] = mapped_column(JsonText)
    flagged_reason: Mapped[str | None] = mapped_column(Text)
    converted_case_id: Mapped[UUID | None] = mapped_column(ForeignKey("test_cases.id", ondelete="SET NULL"))
    converted_at: Mapped[datetime | None] = mapped_column(Moment)
    idempotency_key: Mapped[str | None] = mapped_column(String(128))
    idempotency_hash: Mapped[str | None] = mapped_column(String(64))
