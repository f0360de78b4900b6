"""Agents with the versions of their prompts, and comparisons of such versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Updated
from proctor_store.columns import Guid, JsonText, Moment

__all__ = ["CompareRun", "PromptVersion", "TestAgent"]


class TestAgent(Updated, Base):
    """The one agent of an integration.

    `current_version_id` bears no foreign key: versions end with their agent alone, and two tables that point
    at each other could not be made in one pass.
    """

    __test__ = False
    __tablename__ = "test_agents"
    __table_args__ = (
        UniqueConstraint("integration_id"),
        Index("ix_test_agents_account_id_id", "account_id", "id"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(128))
    current_version_id: Mapped[UUID | None] = mapped_column(Guid)
    default_provider: Mapped[str | None] = mapped_column(String(16))
    default_model: Mapped[str | None] = mapped_column(String(256))


class PromptVersion(Updated, Base):
    """A prompt as it was written once; only its marker of export changes afterwards."""

    __tablename__ = "prompt_versions"
    __table_args__ = (UniqueConstraint("agent_id", "version_number"),)

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    agent_id: Mapped[UUID] = mapped_column(ForeignKey("test_agents.id", ondelete="CASCADE"))
    version_number: Mapped[int] = mapped_column(Integer)
    prompt: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(String(16))
    parent_version_id: Mapped[UUID | None] = mapped_column(Guid)
    platform_version: Mapped[str | None] = mapped_column(String(256))
    platform_synced_at: Mapped[datetime | None] = mapped_column(Moment)
    generation_context: Mapped[str | None] = mapped_column(Text)
    exported_to_platform_at: Mapped[datetime | None] = mapped_column(Moment)
    notes: Mapped[str | None] = mapped_column(Text)
    created_by: Mapped[str | None] = mapped_column(String(128))
    is_immutable: Mapped[bool] = mapped_column(Boolean)


class CompareRun(Updated, Base):
    """One set of cases against a matrix of versions and models; each cell is a run.

    `matrix` and `run_ids` have one entry a cell, in one order; `baseline` is the place of the cell that the
    others are held against. `settings` is what the runs were started with. The budget is that of all cells.
    """

    __tablename__ = "compare_runs"
    __table_args__ = (
        Index("ix_compare_runs_account_id_id", "account_id", "id"),
        UniqueConstraint("account_id", "idempotency_key"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    agent_id: Mapped[UUID] = mapped_column(ForeignKey("test_agents.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    matrix: Mapped[Any] = mapped_column(JsonText)
    case_ids: Mapped[Any] = mapped_column(JsonText)
    settings: Mapped[Any] = mapped_column(JsonText)
    status: Mapped[str] = mapped_column(String(16))
    run_ids: Mapped[Any] = mapped_column(JsonText)
    baseline: Mapped[int] = mapped_column(Integer)
    budget_micro: Mapped[int | None] = mapped_column(BigInteger)
    warnings: Mapped[Any] = mapped_column(JsonText)
    idempotency_key: Mapped[str | None] = mapped_column(String(128))
    idempotency_hash: Mapped[str | None] = mapped_column(String(64))
    completed_at: Mapped[datetime | None] = mapped_column(Moment)
