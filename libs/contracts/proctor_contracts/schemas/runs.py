"""Runs, results and events over REST."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from proctor_contracts.agents import JudgePolicy, JudgeSettings
from proctor_contracts.base import TYPED, SafeText, Strict, Wire
from proctor_contracts.effects import Effect
from proctor_contracts.enums import Priority, Provider, ResultStatus, RunMode, Runner, RunStatus, Trigger
from proctor_contracts.gate import GateDecision, GateSettings
from proctor_contracts.results import AssertionResult, CaseError, Evaluation
from proctor_contracts.summary import RunSummary
from proctor_contracts.transcript import TranscriptEntry, Usage
from proctor_contracts.weather import WeatherText

from .common import Meta, Timestamp, Warning_
from .integrations import Model, Prompt

__all__ = [
    "AttemptView",
    "CaseFilter",
    "Rerun",
    "ResultView",
    "ResultsData",
    "ResultsPage",
    "RunCreate",
    "RunDocument",
    "RunEvent",
    "RunOptions",
    "RunProgress",
    "RunView",
]


class CaseFilter(Strict):
    """Which active cases a run takes; `{}` takes all of them. Every given field must hold."""

    category: SafeText | None = None
    priority: Priority | None = None
    tags: tuple[SafeText, ...] | None = None
    refs: Annotated[tuple[SafeText, ...], Field(max_length=10_000)] | None = None


class RunOptions(Strict):
    """Which cases a run takes, and how it plays them."""

    case_ids: Annotated[tuple[UUID, ...], Field(max_length=10_000)] | None = None
    case_filter: CaseFilter | None = None
    agent_prompt_override: Prompt | None = None
    score_threshold: Annotated[int, Field(ge=0, le=100), TYPED] | None = None
    runner: Runner = Runner.SCRIPTED
    dry_run: bool = True
    retries_on_failure: Annotated[int, Field(ge=0, le=5), TYPED] = 0
    repeats: Annotated[int, Field(ge=1, le=20), TYPED] = 1
    budget_cents: Annotated[float, Field(gt=0, le=100_000_000), TYPED] | None = None
    budget_mode: Literal["enforce", "best_effort"] = "enforce"
    provider: Provider | None = None
    model: Model | None = None
    prompt_version_id: UUID | None = None
    tags: Annotated[
        tuple[Annotated[SafeText, Field(min_length=1, max_length=64)], ...], Field(max_length=50)
    ] = ()
    concurrency: Annotated[int, Field(ge=1, le=1000), TYPED] | None = None
    judge: JudgeSettings | None = None
    judge_policy: JudgePolicy = "always"
    on_tool_error: Literal["error", "continue"] = "continue"
    weather: Annotated[tuple[WeatherText, ...], Field(max_length=20)] = ()
    gate: GateSettings | None = None
    pool: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,32}$")] = "default"
    case_timeout_ms: Annotated[int, Field(ge=1_000, le=1_800_000), TYPED] | None = None


class RunCreate(RunOptions):
    """Start a run in case mode: `caseIds` or a `caseFilter`; everything here is snapshotted into the run."""

    integration_id: UUID
    persona_ids: tuple[UUID, ...] | None = None
    trigger: Trigger = Trigger.MANUAL


class Rerun(Strict):
    """Which results of the old run a new one plays again, from the old run's snapshots."""

    which: Literal["all", "failed", "errored", "unfinished"] = "all"


class RunProgress(Wire):
    """Live counters; they add up to `total` when the run is over."""

    total: int
    done: int
    passed: int
    failed: int
    error: int
    cancelled: int
    flaky: int
    in_flight: int = 0
    cost_cents: float | None = None
    eta_seconds: int | None = None


class RunView(Wire):
    """A run with its live counters; `summary` and `gateDecision` come when it is over."""

    id: UUID
    integration_id: UUID
    integration_name: str
    status: RunStatus
    trigger: Trigger
    mode: RunMode
    runner: Runner
    dry_run: bool
    agent_prompt_snapshot: str
    case_ids: tuple[UUID, ...] | None = None
    score_threshold: int | None
    retries_on_failure: int
    repeats: int
    budget_cents: float | None
    budget_mode: str
    provider: Provider
    model: str | None
    judge: JudgeSettings | None
    judge_policy: JudgePolicy
    concurrency: int
    pool: str
    on_tool_error: str = "continue"
    weather: tuple[str, ...] = ()
    tags: tuple[str, ...]
    agent_id: UUID | None = None
    prompt_version_id: UUID | None = None
    compare_run_id: UUID | None = None
    schedule_id: UUID | None = None
    rerun_of: UUID | None
    confirms_run_id: UUID | None = None
    prompt_overridden: bool
    agent_models: tuple[str, ...] = ()
    judge_models: tuple[str, ...] = ()
    agent_fingerprints: tuple[str, ...] = ()
    judge_fingerprints: tuple[str, ...] = ()
    created_at: Timestamp
    started_at: Timestamp | None
    completed_at: Timestamp | None
    progress: RunProgress
    summary: RunSummary | None
    gate: GateSettings | None = None
    gate_decision: GateDecision | None = None
    warnings: tuple[Warning_, ...] = ()


class AttemptView(Wire):
    """One graded attempt of a trial; every attempt's transcript and ledger is kept."""

    attempt: int
    status: ResultStatus
    score: int | None = None
    assertion_results: tuple[AssertionResult, ...] = ()
    transcript: tuple[TranscriptEntry, ...] = ()
    effects: tuple[Effect, ...] = ()
    error: CaseError | None = None
    duration_ms: int | None = None


class ResultView(Wire):
    """One case and trial: the deciding attempt whole, earlier ones in `attempts`."""

    id: UUID
    run_id: UUID
    case_id: UUID
    case_ref: str | None
    case_name: str
    category: str
    priority: Priority
    critical: bool
    weight: int
    threshold: int
    tags: tuple[str, ...] = ()
    trial: int
    status: ResultStatus
    score: int | None
    score_min: int | None = None
    score_max: int | None = None
    evaluation: Evaluation | None
    assertion_results: tuple[AssertionResult, ...]
    transcript: tuple[TranscriptEntry, ...]
    outcomes: dict[str, Any] = Field(default_factory=dict)
    effects: tuple[Effect, ...] = ()
    weather: str | None = None
    duration: int | None
    duration_ms: int | None
    latency_ms: int | None = None
    usage: Usage
    judge_usage: Usage = Usage()
    cost_cents: float | None
    error: CaseError | None
    logs: tuple[str, ...]
    attempt_count: int
    flaky: bool
    first_attempt_status: ResultStatus | None = None
    needs_review: bool = False
    attempts: tuple[AttemptView, ...] = ()
    started_at: Timestamp | None
    completed_at: Timestamp | None


class ResultsData(Wire):
    """The seed's results answer: the run's id, status and summary with the page of results."""

    id: UUID
    status: RunStatus
    summary: RunSummary | None
    results: tuple[ResultView, ...]


class ResultsPage(Wire):
    """Results with their page."""

    data: ResultsData
    meta: Meta


class RunEvent(Wire):
    """A numbered event of a run; `seq` is null for transient ones, which may be lost."""

    seq: int | None
    event: str
    data: dict[str, Any]
    at: Timestamp


class RunDocument(Wire):
    """A run as one document, for export and reports; needs nothing else to be read a year later."""

    format: Literal["proctor.run/1"] = "proctor.run/1"
    run: RunView
    results: tuple[ResultView, ...]
