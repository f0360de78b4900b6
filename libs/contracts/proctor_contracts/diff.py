"""Two runs side by side."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from .base import Wire

__all__ = ["Change", "DiffCase", "DiffSide", "DiffTest", "DiffVerdict", "RunDiff"]


class Change(StrEnum):
    """What became of a case from run A to run B, by first attempts."""

    FIXED = "fixed"
    BROKEN = "broken"
    STILL_FAILING = "still_failing"
    STILL_PASSING = "still_passing"
    FLAKY = "flaky"
    ERRORED = "errored"
    ONLY_IN_A = "only_in_a"
    ONLY_IN_B = "only_in_b"


class DiffSide(Wire):
    """A case in one run: first attempts passed out of those graded, and the mean score."""

    passed: int = 0
    graded: int = 0
    flaky: bool = False
    score: float | None = None


class DiffCase(Wire):
    """One case in both runs."""

    case_id: UUID
    ref: str | None = None
    name: str
    category: str
    change: Change
    a: DiffSide | None = None
    b: DiffSide | None = None


class DiffVerdict(StrEnum):
    """What the paired test says of run B against run A."""

    BETTER = "better"
    WORSE = "worse"
    NO_EVIDENCE = "no_evidence"
    INCOMPARABLE = "incomparable"


class DiffTest(Wire):
    """The paired test over cases graded in both runs; shares are 0-1, `delta` is B's pass rate minus A's.

    `coverage` is the share of cases graded in both among those graded in either; below 0.8 nothing is
    compared. `only_a` and `only_b` count cases that one run alone passed.
    """

    method: str
    verdict: DiffVerdict
    pairs: int = 0
    coverage: float = 0
    p_value: float | None = None
    p_exact: float | None = None
    only_a: int = 0
    only_b: int = 0
    delta: float | None = None
    delta_ci95: tuple[float, float] | None = None
    minimum_detectable: float | None = None
    small_n: bool = False


class RunDiff(Wire):
    """The comparison of run A (before) with run B (after); newly broken cases come first."""

    a: UUID
    b: UUID
    counts: dict[Change, int] = Field(default_factory=dict)
    cases: tuple[DiffCase, ...] = ()
    test: DiffTest
