"""What statistics conclude: of a comparison, of a category over time, of one case's history."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ComparisonVerdict", "RegressionVerdict", "Stability"]


class ComparisonVerdict(StrEnum):
    """What became of B, compared with A; `undecided` means that more pairs could tell."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no_difference"
    UNDECIDED = "undecided"


class RegressionVerdict(StrEnum):
    """What became of a category; only `regression` blocks a release, `suspected` asks for a rerun."""

    REGRESSION = "regression"
    SUSPECTED = "suspected"
    DRIFT = "drift"
    OK = "ok"
    NO_BASELINE = "no_baseline"


class Stability(StrEnum):
    """What a case's history says of it; below five trials nothing."""

    UNKNOWN = "unknown"
    STABLE_PASS = "stable_pass"  # noqa: S105 - no password
    STABLE_FAIL = "stable_fail"
    FLAKY = "flaky"
