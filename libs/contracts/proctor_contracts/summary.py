"""The numbers of a run."""

from __future__ import annotations

from pydantic import Field

from .base import Wire
from .transcript import Usage

__all__ = ["Counts", "GroupSummary", "RunSummary"]


class Counts(Wire):
    """Results (case x trial) by how they ended; they add up to `total` when the run is over."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    error: int = 0
    cancelled: int = 0
    flaky: int = 0


class GroupSummary(Counts):
    """Counts of one category or priority, with the plain mean score over the `scored` graded results."""

    avg_score: float | None = None
    scored: int = 0
    pass_rate: float | None = None


class RunSummary(Counts):
    """The whole run.

    `pass_rate` is passed / (passed + failed) on first attempts, `pass_rate_after_retries` on final statuses;
    both null when nothing was graded. `pass_rate_ci95` belongs to the first. `avg_score` is weighted by the
    cases' weights.
    """

    cases: int = 0
    pass_rate: float | None = None
    pass_rate_after_retries: float | None = None
    pass_rate_ci95: tuple[float, float] | None = None
    first_attempt_passed: int = 0
    first_attempt_failed: int = 0
    avg_score: float | None = None
    scored: int = 0
    by_category: dict[str, GroupSummary] = Field(default_factory=dict)
    by_priority: dict[str, GroupSummary] = Field(default_factory=dict)
    usage: Usage = Usage()
    judge_usage: Usage = Usage()
    cost_cents: float | None = None
    duration_ms: int | None = None
    latency_p50_ms: int | None = None
    latency_p95_ms: int | None = None
    critical_failed: tuple[str, ...] = ()
    critical_error: tuple[str, ...] = ()
    errors_by_code: dict[str, int] = Field(default_factory=dict)
    needs_review: int = 0
