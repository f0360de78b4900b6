"""Two runs side by side: what changed per case, and whether the difference is more than noise."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal
from uuid import UUID

from .base import Wire
from .enums import ResultStatus

__all__ = ["CaseChange", "CaseDiff", "CategoryDiff", "PairedTest", "RunDiff"]


class CaseChange(StrEnum):
    """What became of one case from run A (the baseline) to run B."""

    BROKEN = "broken"
    FIXED = "fixed"
    FLAKY = "flaky"
    STILL_FAILING = "still_failing"
    STILL_PASSING = "still_passing"
    ERRORED = "errored"
    ONLY_IN_A = "only_in_a"
    ONLY_IN_B = "only_in_b"


class CaseDiff(Wire):
    """One case in both runs; statuses and scores are null where it did not run."""

    case_id: UUID
    case_ref: str | None = None
    case_name: str
    category: str
    critical: bool = False
    change: CaseChange
    status_a: ResultStatus | None = None
    status_b: ResultStatus | None = None
    score_a: int | None = None
    score_b: int | None = None


class PairedTest(Wire):
    """The paired test over the cases graded in both runs; `method` says which one decided.

    Rates and differences are shares of first attempts, averaged over cases. `smallest_detectable` is the
    smallest difference that so many pairs show with 80 % power; null when they cannot show any.
    """

    method: Literal["mcnemar_mid_p", "permutation"]
    pairs: int
    better: int
    worse: int
    p_value: float
    p_exact: float | None = None
    rate_a: float | None = None
    rate_b: float | None = None
    mean_difference: float | None = None
    ci95: tuple[float, float] | None = None
    smallest_detectable: float | None = None


class CategoryDiff(Wire):
    """The paired test of one category; `adjusted` is its p after Benjamini-Hochberg over the categories."""

    category: str
    pairs: int
    better: int
    worse: int
    mean_difference: float
    p_value: float
    adjusted: float


class RunDiff(Wire):
    """Run B against run A; `test` is null when the runs are not comparable, and `reason` says why.

    `categories` holds those in which something changed, the strongest evidence first.
    """

    run_a: UUID
    run_b: UUID
    cases: tuple[CaseDiff, ...]
    counts: dict[str, int]
    coverage: float
    comparable: bool
    reason: str | None = None
    test: PairedTest | None = None
    categories: tuple[CategoryDiff, ...] = ()
