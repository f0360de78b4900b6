"""Two runs side by side: what changed per case, and whether the difference is more than noise."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal
from uuid import UUID

from .base import Wire
from .enums import ResultStatus

__all__ = ["CaseChange", "CaseDiff", "PairedTest", "RunDiff"]


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
    """The paired test over the cases graded in both runs; `method` says which one decided."""

    method: Literal["mcnemar_mid_p", "permutation"]
    pairs: int
    better: int
    worse: int
    p_value: float
    p_exact: float | None = None
    mean_difference: float | None = None
    ci95: tuple[float, float] | None = None
    smallest_detectable: float | None = None


class RunDiff(Wire):
    """Run B against run A; `test` is null when the runs are not comparable, and `reason` says why."""

    run_a: UUID
    run_b: UUID
    cases: tuple[CaseDiff, ...]
    counts: dict[str, int]
    coverage: float
    comparable: bool
    reason: str | None = None
    test: PairedTest | None = None
