"""Integrations, their handlers and their cases."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Updated, partial_index
from proctor_store.columns import Guid, JsonText

__all__ = ["Handler", "Integration", "TestCase"]


class Integration(Updated, Base):
    """One deployed bot of an account."""

    __tablename__ = "integrations"
    __table_args__ = (UniqueConstraint("account_id", "name"),)

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(128))
    agent_prompt: Mapped[str] = mapped_column(Text)
    platform_assistant_id: Mapped[str | None] = mapped_column(String(256))
    provider: Mapped[str] = mapped_column(String(16))
    model: Mapped[str | None] = mapped_column(String(256))
    endpoint: Mapped[Any] = mapped_column(JsonText, nullable=True)
    locale: Mapped[str | None] = mapped_column(String(8))
    alerts: Mapped[Any] = mapped_column(JsonText, nullable=True)


class Handler(Updated, Base):
    """A tool of an integration; a null `is_side_effect` counts as a side effect."""

    __tablename__ = "handlers"
    __table_args__ = (UniqueConstraint("integration_id", "name"),)

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(256))
    description: Mapped[str | None] = mapped_column(Text)
    url: Mapped[str] = mapped_column(Text)
    method: Mapped[str] = mapped_column(String(8))
    headers: Mapped[Any] = mapped_column(JsonText)
    body: Mapped[Any] = mapped_column(JsonText, nullable=True)
    parameters_schema: Mapped[Any] = mapped_column(JsonText, nullable=True)
    is_side_effect: Mapped[bool | None] = mapped_column(Boolean)
    effect: Mapped[Any] = mapped_column(JsonText, nullable=True)


class TestCase(Updated, Base):
    """One behavioural rule; `search_text` is NFKC and casefolded, for search that folds Cyrillic anywhere."""

    __test__ = False
    __tablename__ = "test_cases"
    __table_args__ = (
        partial_index(
            "uq_test_cases_integration_id_ref",
            "integration_id",
            "ref",
            unique=True,
            where="ref IS NOT NULL",
        ),
        Index("ix_test_cases_account_id_integration_id_category", "account_id", "integration_id", "category"),
        Index("ix_test_cases_integration_id_id", "integration_id", "id"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    revision: Mapped[int] = mapped_column(Integer)
    ref: Mapped[str | None] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(Text)
    category: Mapped[str] = mapped_column(String(64))
    priority: Mapped[str] = mapped_column(String(8))
    input: Mapped[Any] = mapped_column(JsonText)
    assertions: Mapped[Any] = mapped_column(JsonText)
    rubric: Mapped[str | None] = mapped_column(Text)
    weight: Mapped[int] = mapped_column(Integer)
    threshold: Mapped[int | None] = mapped_column(Integer)
    tags: Mapped[Any] = mapped_column(JsonText)
    is_active: Mapped[bool] = mapped_column(Boolean)
    critical: Mapped[bool] = mapped_column(Boolean)
    retry_policy: Mapped[str | None] = mapped_column(String(8))
    reference: Mapped[Any] = mapped_column(JsonText, nullable=True)
    budget: Mapped[Any] = mapped_column(JsonText, nullable=True)
    search_text: Mapped[str] = mapped_column(Text)
