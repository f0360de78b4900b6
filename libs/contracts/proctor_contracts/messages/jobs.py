"""Commands to workers: self-contained snapshots, so that a worker needs no database."""

from __future__ import annotations

from typing import ClassVar, Literal
from uuid import UUID

from typing_extensions import override

from proctor_contracts.agents import AgentSnapshot, JudgeSettings
from proctor_contracts.assertions import Judge
from proctor_contracts.base import Wire
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import Runner
from proctor_contracts.ids import job_id, judge_job_id
from proctor_contracts.topology import DEFAULT_POOL, JOBS, Exchange, case_key
from proctor_contracts.transcript import TranscriptEntry

from .base import RunMessage

__all__ = ["CaseRequested", "JudgeCriterion", "JudgeRequested"]


class CaseRequested(RunMessage):
    """Play one attempt of one trial of a case.

    `budget_micro_usd` is the share reserved for this attempt, which the worker may not exceed (null: no
    budget). `timeout_ms` bounds the whole attempt. `weather` strikes tool calls as `seed` chooses, the same
    at every repetition.
    """

    exchange: ClassVar[Exchange] = JOBS

    account_id: UUID
    result_id: UUID
    trial: int = 1
    attempt: int = 1
    pool: str = DEFAULT_POOL
    case: CaseSnapshot
    agent: AgentSnapshot
    runner: Runner = Runner.SCRIPTED
    dry_run: bool = True
    timeout_ms: int = 120_000
    budget_micro_usd: int | None = None
    on_tool_error: Literal["error", "continue"] = "continue"
    weather: str | None = None
    seed: str = ""

    @override
    def key(self) -> str:
        """Route to the pool."""
        return case_key(self.pool)

    @override
    def id(self) -> str:
        """Name the job."""
        return job_id(self.run_id, self.case.id, self.trial, self.attempt)


class JudgeCriterion(Wire):
    """One judge assertion by its place in the case."""

    index: int
    assertion: Judge


class JudgeRequested(RunMessage):
    """Judge the criteria of one executed attempt."""

    exchange: ClassVar[Exchange] = JOBS

    account_id: UUID
    result_id: UUID
    case_id: UUID
    trial: int = 1
    attempt: int = 1
    case_name: str = ""
    context: str | None = None
    critical: bool = False
    criteria: tuple[JudgeCriterion, ...]
    transcript: tuple[TranscriptEntry, ...]
    judge: JudgeSettings
    agent_provider: str | None = None
    agent_model: str | None = None
    timeout_ms: int = 120_000
    budget_micro_usd: int | None = None

    @override
    def key(self) -> str:
        """Route to the judges."""
        return "judge.requested"

    @override
    def id(self) -> str:
        """Name the job."""
        return judge_job_id(self.run_id, self.case_id, self.trial, self.attempt)
