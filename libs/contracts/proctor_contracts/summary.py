"""The numbers of a run."""

from __future__ import annotations

from pydantic import Field

from .base import Wire
from .transcript import Usage

__all__ = ["Counts", "GroupSummary", "RepeatRates", "RunSummary", "UnstableCase"]


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


class RepeatRates(Wire):
    """What k trials of a case do: `pass_any` is pass@k, `pass_all` is pass^k, as means over `cases`.

    `excluded` cases had fewer than k graded first attempts.
    """

    k: int
    pass_any: float
    pass_all: float
    cases: int
    excluded: int = 0


class UnstableCase(Wire):
    """A case whose trials disagree; `instability` is the chance that two of its trials do."""

    label: str
    trials: int
    passed: int
    instability: float


class RunSummary(Counts):
    """The whole run.

    `pass_rate` is passed / (passed + failed) on first attempts, `pass_rate_after_retries` on final statuses;
    both null when nothing was graded. `pass_rate_ci95` belongs to the first and takes the trials of one case
    for alike. `flaky_rate` is flaky / (passed + failed). `repeats`, `instability` (the mean over cases) and
    `unstable` (the worst ten) come from first attempts where cases have several trials. `avg_score` is
    weighted by the cases' weights.
    """

    cases: int = 0
    pass_rate: float | None = None
    pass_rate_after_retries: float | None = None
    pass_rate_ci95: tuple[float, float] | None = None
    first_attempt_passed: int = 0
    first_attempt_failed: int = 0
    flaky_rate: float | None = None
    repeats: tuple[RepeatRates, ...] = ()
    instability: float | None = None
    unstable: tuple[UnstableCase, ...] = ()
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
