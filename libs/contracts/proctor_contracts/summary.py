"""The numbers of a run."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from .base import Wire
from .transcript import Usage

__all__ = ["CaseRef", "GroupSummary", "RunSummary"]


class CaseRef(Wire):
    """How a report names a case."""

    case_id: UUID
    ref: str | None = None
    name: str


class GroupSummary(Wire):
    """Counts of results (one per case and trial) in one group.

    `pass_rate` is of first attempts, passed / (passed + failed), null when nothing was graded; `avg_score`
    is over the `scored` results out of `total`.
    """

    total: int = 0
    passed: int = 0
    failed: int = 0
    error: int = 0
    cancelled: int = 0
    flaky: int = 0
    pass_rate: float | None = None
    avg_score: float | None = None
    scored: int = 0


class RunSummary(GroupSummary):
    """Counts of a whole run; `total` counts results (one per case and trial), `cases` counts cases.

    `avg_score` is weighted by the cases' weights here and not in the groups. Latencies are per user turn.
    Costs are null when a price is unknown; `cost_micro_usd` includes the judge's share,
    `judge_cost_micro_usd`.
    """

    cases: int = 0
    unfinished: int = 0
    graded: int = 0
    first_passed: int = 0
    pass_rate_after_retries: float | None = None
    pass_rate_ci95: tuple[float, float] | None = None
    by_category: dict[str, GroupSummary] = Field(default_factory=dict)
    by_priority: dict[str, GroupSummary] = Field(default_factory=dict)
    latency_p50_ms: int | None = None
    latency_p95_ms: int | None = None
    usage: Usage = Usage()
    cost_micro_usd: int | None = 0
    cost_cents: float | None = 0
    judge_cost_micro_usd: int | None = 0
    duration_ms: int | None = None
    errors: dict[str, int] = Field(default_factory=dict)
    critical_failed: tuple[CaseRef, ...] = ()
    critical_errored: tuple[CaseRef, ...] = ()
