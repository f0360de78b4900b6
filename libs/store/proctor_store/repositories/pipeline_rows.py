"""The values that the collector reads of running runs, and the columns they come from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_contracts.enums import Phase
from proctor_store.tables import Run, RunCase, TestResult

__all__ = [
    "LIVE",
    "RESULT_COLUMNS",
    "RUN_COLUMNS",
    "AccountRow",
    "NewPhase",
    "OutRow",
    "ResultRow",
    "RunRow",
    "WaitingRow",
]

LIVE = ("pending", "running")


@dataclass(frozen=True, slots=True)
class AccountRow:
    """An account under its lock."""

    id: UUID
    balance_micro: int | None
    max_concurrent_cases: int | None
    runs_per_minute: int | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run under its lock, with the counters that decisions need."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    status: str
    trigger: str
    mode: str
    settings: dict[str, Any]
    prompt_overridden: bool
    compare_run_id: UUID | None
    schedule_id: UUID | None
    rerun_of: UUID | None
    confirms_run_id: UUID | None
    window: int
    total: int
    remaining: int
    next_ordinal: int
    in_flight: int
    judging: int
    budget_micro: int | None
    reserved_micro: int
    cost_micro: int
    event_seq: int
    agent_models: list[str]
    judge_models: list[str]
    agent_fingerprints: list[str] | None
    judge_fingerprints: list[str] | None
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A result with the case it plays."""

    id: UUID
    run_id: UUID
    case_id: UUID
    trial: int
    ordinal: int
    weather: str | None
    status: str
    stage: str
    attempt: int
    history: list[list[Any]]
    cost_micro: int | None
    reserved_micro: int
    usage: dict[str, Any] | None
    judge_usage: dict[str, Any] | None
    latencies: list[int] | None
    duration_ms: int | None
    losses: int
    started_at: datetime | None
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A result that waits to be let out; `attempt` counts the attempts it has behind it."""

    id: UUID
    case_id: UUID
    trial: int
    ordinal: int
    attempt: int
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OutRow:
    """A result whose job is out, for the sweeper."""

    id: UUID
    run_id: UUID
    case_id: UUID
    trial: int
    attempt: int
    stage: str
    dispatched_at: datetime | None
    losses: int


@dataclass(frozen=True, slots=True)
class NewPhase:
    """A worker's report, as it came."""

    result_id: UUID
    attempt: int
    phase: Phase
    run_id: UUID
    payload: str


RUN_COLUMNS = (
    Run.id,
    Run.account_id,
    Run.integration_id,
    Run.status,
    Run.trigger,
    Run.mode,
    Run.settings,
    Run.prompt_overridden,
    Run.compare_run_id,
    Run.schedule_id,
    Run.rerun_of,
    Run.confirms_run_id,
    Run.window,
    Run.total,
    Run.remaining,
    Run.next_ordinal,
    Run.in_flight,
    Run.judging,
    Run.budget_micro,
    Run.reserved_micro,
    Run.cost_micro,
    Run.event_seq,
    Run.agent_models,
    Run.judge_models,
    Run.agent_fingerprints,
    Run.judge_fingerprints,
    Run.started_at,
)

RESULT_COLUMNS = (
    TestResult.id,
    TestResult.run_id,
    TestResult.case_id,
    TestResult.trial,
    TestResult.ordinal,
    TestResult.weather,
    TestResult.status,
    TestResult.stage,
    TestResult.attempt,
    TestResult.history,
    TestResult.cost_micro,
    TestResult.reserved_micro,
    TestResult.usage,
    TestResult.judge_usage,
    TestResult.latencies,
    TestResult.duration_ms,
    TestResult.losses,
    TestResult.started_at,
    RunCase.snapshot,
)
