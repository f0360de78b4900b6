"""Facts from workers: what happened in one attempt, and what the judge said of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from pydantic import Field
from typing_extensions import override

from proctor_contracts.effects import Effect
from proctor_contracts.ids import job_id, judge_job_id
from proctor_contracts.results import AssertionResult, CaseError
from proctor_contracts.topology import EVENTS, Exchange
from proctor_contracts.transcript import TranscriptEntry, Usage

from .base import RunMessage

__all__ = ["CaseExecuted", "CaseJudged"]


class CaseExecuted(RunMessage):
    """One attempt was played: a transcript with its deterministic results, or why it could not be.

    With `error` the transcript holds what there was. `cost_micro_usd` is null when a price is unknown.
    `duration_ms` is the whole attempt on the worker's clock; the agent's own times stand in the transcript.
    """

    exchange: ClassVar[Exchange] = EVENTS

    result_id: UUID
    case_id: UUID
    trial: int = 1
    attempt: int = 1
    transcript: tuple[TranscriptEntry, ...] = ()
    assertion_results: tuple[AssertionResult, ...] = ()
    outcomes: dict[str, Any] = Field(default_factory=dict)
    effects: tuple[Effect, ...] = ()
    weather: str | None = None
    error: CaseError | None = None
    usage: Usage = Usage()
    cost_micro_usd: int | None = 0
    duration_ms: int = 0
    started_at: datetime
    finished_at: datetime
    logs: tuple[str, ...] = ()
    worker_id: str = ""
    agent_model: str | None = None
    agent_fingerprint: str | None = None
    model_calls: int = 0

    @override
    def key(self) -> str:
        """Route to the collector."""
        return "case.executed"

    @override
    def id(self) -> str:
        """Name the fact after its job."""
        return job_id(self.run_id, self.case_id, self.trial, self.attempt)


class CaseJudged(RunMessage):
    """The judge answered, or could not; one result for each criterion that was asked, by its index."""

    exchange: ClassVar[Exchange] = EVENTS

    result_id: UUID
    case_id: UUID
    trial: int = 1
    attempt: int = 1
    assertion_results: tuple[AssertionResult, ...] = ()
    usage: Usage = Usage()
    cost_micro_usd: int | None = 0
    duration_ms: int = 0
    finished_at: datetime
    logs: tuple[str, ...] = ()
    worker_id: str = ""
    judge_model: str | None = None
    judge_fingerprint: str | None = None
    model_calls: int = 0

    @override
    def key(self) -> str:
        """Route to the collector."""
        return "case.judged"

    @override
    def id(self) -> str:
        """Name the fact after its job."""
        return judge_job_id(self.run_id, self.case_id, self.trial, self.attempt)
