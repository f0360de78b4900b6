"""Runs with the cases as they were, their results, attempts and numbered events."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from proctor_store.base import Base, Created, partial_index
from proctor_store.columns import Guid, JsonText, Moment

__all__ = ["ResultPhase", "Run", "RunCase", "RunEventRow", "TestResult"]


class Run(Created, Base):
    """One run and its live counters.

    `settings` holds everything that was snapshotted (agent, judge, gate, limits). `next_ordinal` is the first
    result not yet let out; `in_flight` counts jobs out and not executed, `judging` attempts waiting for the
    judge, `remaining` results not yet final. Counters change by SQL arithmetic under the row's lock only.
    A run with `deleted_at` is gone for everybody; what it holds is being deleted in small batches. One whose
    export before that failed waits until `export_after`, longer after each of its `export_failures`.
    """

    __tablename__ = "test_runs"
    __table_args__ = (
        Index("ix_test_runs_account_id_id", "account_id", "id"),
        Index("ix_test_runs_integration_id_id", "integration_id", "id"),
        Index("ix_test_runs_compare_run_id", "compare_run_id"),
        Index("ix_test_runs_integration_id_completed_at", "integration_id", "completed_at"),
        Index("ix_test_runs_status_completed_at", "status", "completed_at"),
        partial_index("ix_test_runs_deleted_at", "deleted_at", where="deleted_at IS NOT NULL"),
        partial_index("ix_test_runs_schedule_id", "schedule_id", where="schedule_id IS NOT NULL"),
        partial_index(
            "uq_test_runs_confirms_run_id",
            "confirms_run_id",
            unique=True,
            where="confirms_run_id IS NOT NULL",
        ),
        partial_index(
            "ix_test_runs_running",
            "status",
            where="status IN ('pending', 'running')",
        ),
        UniqueConstraint("account_id", "idempotency_key"),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    integration_id: Mapped[UUID] = mapped_column(ForeignKey("integrations.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(String(16))
    trigger: Mapped[str] = mapped_column(String(16))
    mode: Mapped[str] = mapped_column(String(16))
    provider: Mapped[str] = mapped_column(String(16))
    model: Mapped[str | None] = mapped_column(String(256))
    agent_prompt_snapshot: Mapped[str] = mapped_column(Text)
    prompt_overridden: Mapped[bool] = mapped_column(Boolean)
    settings: Mapped[Any] = mapped_column(JsonText)
    tags: Mapped[Any] = mapped_column(JsonText)
    warnings: Mapped[Any] = mapped_column(JsonText)
    window: Mapped[int] = mapped_column(Integer)
    total: Mapped[int] = mapped_column(Integer)
    remaining: Mapped[int] = mapped_column(Integer)
    next_ordinal: Mapped[int] = mapped_column(Integer, default=0)
    in_flight: Mapped[int] = mapped_column(Integer, default=0)
    judging: Mapped[int] = mapped_column(Integer, default=0)
    passed: Mapped[int] = mapped_column(Integer, default=0)
    failed: Mapped[int] = mapped_column(Integer, default=0)
    error: Mapped[int] = mapped_column(Integer, default=0)
    cancelled: Mapped[int] = mapped_column(Integer, default=0)
    flaky: Mapped[int] = mapped_column(Integer, default=0)
    budget_micro: Mapped[int | None] = mapped_column(BigInteger)
    reserved_micro: Mapped[int] = mapped_column(BigInteger, default=0)
    cost_micro: Mapped[int] = mapped_column(BigInteger, default=0)
    unknown_costs: Mapped[int] = mapped_column(Integer, default=0)
    event_seq: Mapped[int] = mapped_column(Integer, default=0)
    summary: Mapped[Any] = mapped_column(JsonText, nullable=True)
    gate_decision: Mapped[Any] = mapped_column(JsonText, nullable=True)
    agent_models: Mapped[Any] = mapped_column(JsonText)
    judge_models: Mapped[Any] = mapped_column(JsonText)
    agent_fingerprints: Mapped[Any] = mapped_column(JsonText, nullable=True)
    judge_fingerprints: Mapped[Any] = mapped_column(JsonText, nullable=True)
    agent_id: Mapped[UUID | None] = mapped_column(Guid)
    prompt_version_id: Mapped[UUID | None] = mapped_column(Guid)
    compare_run_id: Mapped[UUID | None] = mapped_column(Guid)
    schedule_id: Mapped[UUID | None] = mapped_column(Guid)
    rerun_of: Mapped[UUID | None] = mapped_column(Guid)
    confirms_run_id: Mapped[UUID | None] = mapped_column(Guid)
    idempotency_key: Mapped[str | None] = mapped_column(String(128))
    idempotency_hash: Mapped[str | None] = mapped_column(String(64))
    started_at: Mapped[datetime | None] = mapped_column(Moment)
    completed_at: Mapped[datetime | None] = mapped_column(Moment)
    deleted_at: Mapped[datetime | None] = mapped_column(Moment)
    export_failures: Mapped[int] = mapped_column(Integer, server_default="0")
    export_after: Mapped[datetime | None] = mapped_column(Moment)


class RunCase(Base):
    """A case as the run took it."""

    __tablename__ = "run_cases"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("test_runs.id", ondelete="CASCADE"), primary_key=True)
    case_id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    ref: Mapped[str | None] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(Text)
    category: Mapped[str] = mapped_column(String(64))
    priority: Mapped[str] = mapped_column(String(8))
    weight: Mapped[int] = mapped_column(Integer)
    critical: Mapped[bool] = mapped_column(Boolean)
    tags: Mapped[Any] = mapped_column(JsonText)
    snapshot: Mapped[Any] = mapped_column(JsonText)
    search_text: Mapped[str] = mapped_column(Text)


class TestResult(Base):
    """One case and trial of a run; what was said stands in its phases.

    `stage` is waiting, executing, judging or done. `history` lists the graded attempts so far as
    `[status, score]`. `losses` counts how often the sweeper found the job lost.
    """

    __test__ = False
    __tablename__ = "test_results"
    __table_args__ = (
        UniqueConstraint("run_id", "ordinal"),
        UniqueConstraint("run_id", "case_id", "trial"),
        partial_index(
            "ix_test_results_out",
            "stage",
            "dispatched_at",
            where="stage IN ('executing', 'judging')",
        ),
    )

    id: Mapped[UUID] = mapped_column(Guid, primary_key=True)
    account_id: Mapped[UUID] = mapped_column(Guid)
    run_id: Mapped[UUID] = mapped_column(ForeignKey("test_runs.id", ondelete="CASCADE"))
    case_id: Mapped[UUID] = mapped_column(Guid)
    trial: Mapped[int] = mapped_column(Integer)
    ordinal: Mapped[int] = mapped_column(Integer)
    weather: Mapped[str | None] = mapped_column(String(300))
    status: Mapped[str] = mapped_column(String(16))
    stage: Mapped[str] = mapped_column(String(16))
    attempt: Mapped[int] = mapped_column(Integer, default=0)
    deciding_attempt: Mapped[int | None] = mapped_column(Integer)
    history: Mapped[Any] = mapped_column(JsonText)
    score: Mapped[int | None] = mapped_column(Integer)
    score_min: Mapped[int | None] = mapped_column(Integer)
    score_max: Mapped[int | None] = mapped_column(Integer)
    first_status: Mapped[str | None] = mapped_column(String(16))
    flaky: Mapped[bool] = mapped_column(Boolean, default=False)
    needs_review: Mapped[bool] = mapped_column(Boolean, default=False)
    error: Mapped[Any] = mapped_column(JsonText, nullable=True)
    cost_micro: Mapped[int | None] = mapped_column(BigInteger, default=0)
    reserved_micro: Mapped[int] = mapped_column(BigInteger, default=0)
    usage: Mapped[Any] = mapped_column(JsonText, nullable=True)
    judge_usage: Mapped[Any] = mapped_column(JsonText, nullable=True)
    latencies: Mapped[Any] = mapped_column(JsonText, nullable=True)
    duration_ms: Mapped[int | None] = mapped_column(BigInteger)
    losses: Mapped[int] = mapped_column(Integer, default=0)
    dispatched_at: Mapped[datetime | None] = mapped_column(Moment)
    started_at: Mapped[datetime | None] = mapped_column(Moment)
    completed_at: Mapped[datetime | None] = mapped_column(Moment)


class ResultPhase(Base):
    """What a worker reported of one attempt, whole; the key makes a duplicate delivery change nothing."""

    __tablename__ = "result_phases"
    __table_args__ = (Index("ix_result_phases_run_id", "run_id"),)

    result_id: Mapped[UUID] = mapped_column(
        ForeignKey("test_results.id", ondelete="CASCADE"), primary_key=True
    )
    attempt: Mapped[int] = mapped_column(Integer, primary_key=True)
    phase: Mapped[str] = mapped_column(String(8), primary_key=True)
    run_id: Mapped[UUID] = mapped_column(Guid)
    payload: Mapped[Any] = mapped_column(JsonText)


class RunEventRow(Base):
    """A numbered event of a run, which a client must not miss."""

    __tablename__ = "run_events"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("test_runs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(Integer, primary_key=True)
    event: Mapped[str] = mapped_column(String(32))
    data: Mapped[Any] = mapped_column(JsonText)
    at: Mapped[datetime] = mapped_column(Moment)
