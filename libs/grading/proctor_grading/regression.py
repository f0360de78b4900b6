"""Whether a category got worse than in the runs before: the drop, and whether it is more than noise.

A first look tests every category of a run. One that dropped without enough evidence is `suspected` and asks
for a rerun with several trials, which is then judged alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from uuid import UUID

from proctor_contracts.verdicts import RegressionVerdict

from .corrections import holm
from .exchange import CaseScores, lower_tail
from .statistics import t_quantile

__all__ = [
    "CONFIRMING_TRIALS",
    "DROP",
    "ENOUGH_RUNS",
    "CategoryFinding",
    "Scores",
    "confirm",
    "expected_band",
    "fell",
    "first_look",
]

DROP = 10
"""Points by which a category's average must fall to be looked at."""

CONFIRMING_TRIALS = 3
"""Trials a case in the rerun of a suspected category."""

ENOUGH_RUNS = 3
"""Baseline runs without which a first look finds no regression."""

_FIRST_ALPHA = 0.025
_ALPHA = 0.05

Scores = Mapping[UUID, Sequence[int]]
"""The graded scores of one run's category: a case's id to those of its trials."""


@dataclass(frozen=True, slots=True)
class CategoryFinding:
    """What is known of one category.

    `drop` is the baseline's average less the current one, in points and not rounded; `p_value` is adjusted
    for the categories looked at together. `n` counts the cases that were tested, `runs_used` the baseline's
    runs with a graded result in the category.
    """

    verdict: RegressionVerdict
    current_avg: float
    baseline_avg: float | None
    drop: float | None
    p_value: float | None
    n: int
    runs_used: int


def first_look(
    now: Mapping[str, Scores], baseline: Sequence[Mapping[str, Scores]], *, drop: float = DROP
) -> dict[str, CategoryFinding]:
    """Judge every category of a run against the runs before; categories without a graded result are left out.

    `regression` needs the drop, p ≤ .025 after Holm's adjustment and three baseline runs; a drop with less is
    `suspected`; a smaller one with p ≤ .05 is `drift`.
    """
    measured = {
        category: _measure(scores, [run[category] for run in baseline if category in run])
        for category, scores in sorted(now.items())
        if any(scores.values())
    }
    tested = [category for category, one in measured.items() if one.p_value is not None]
    adjusted = dict(zip(tested, holm([_p(measured[category]) for category in tested]), strict=True))
    return {
        category: one.finding(adjusted.get(category), drop=drop, alpha=_FIRST_ALPHA)
        for category, one in measured.items()
    }


def fell(now: Mapping[str, Scores], baseline: Sequence[Mapping[str, Scores]], *, drop: float = DROP) -> bool:
    """Whether any category's average dropped as far as a regression must, before its evidence is counted."""
    return any(
        float(before - _average(scores)) >= drop
        for category, scores in now.items()
        if any(scores.values())
        and (before := _baseline([run[category] for run in baseline if category in run])) is not None
    )


def confirm(now: Scores, baseline: Sequence[Scores], *, drop: float = DROP) -> CategoryFinding | None:
    """Judge the rerun of one suspected category alone, against the baseline that it was suspected by.

    `regression` needs the drop and p ≤ .05, whatever the number of baseline runs; else the category is
    cleared: `drift` or `ok`. None when the rerun graded nothing.
    """
    if not any(now.values()):
        return None
    measured = _measure(now, baseline)
    found = measured.finding(measured.p_value, drop=drop, alpha=_ALPHA, enough_runs=1)
    if found.verdict is not RegressionVerdict.SUSPECTED:
        return found
    return measured.finding(measured.p_value, drop=math.inf, alpha=_ALPHA)


def expected_band(run_averages: Sequence[float]) -> float | None:
    """Return what the next average falls short of once in twenty times; None of fewer than two runs."""
    runs = len(run_averages)
    if runs < 2:  # noqa: PLR2004 - one run has no spread
        return None
    spread = statistics.stdev(run_averages) * math.sqrt(1 + 1 / runs)
    return statistics.fmean(run_averages) - t_quantile(0.95, runs - 1) * spread


@dataclass(frozen=True, slots=True)
class _Measured:
    current: Fraction
    baseline: Fraction | None
    p_value: float | None
    n: int
    runs: int

    def finding(
        self, p_value: float | None, *, drop: float, alpha: float, enough_runs: int = ENOUGH_RUNS
    ) -> CategoryFinding:
        fell = None if self.baseline is None else self.baseline - self.current
        if fell is None:
            verdict = RegressionVerdict.NO_BASELINE
        # As a float, since the threshold is one: 16.1 points are a fall by 16.1.
        elif float(fell) >= drop:
            sure = p_value is not None and p_value <= alpha and self.runs >= enough_runs
            verdict = RegressionVerdict.REGRESSION if sure else RegressionVerdict.SUSPECTED
        elif p_value is not None and p_value <= _ALPHA:
            verdict = RegressionVerdict.DRIFT
        else:
            verdict = RegressionVerdict.OK
        return CategoryFinding(
            verdict=verdict,
            current_avg=float(self.current),
            baseline_avg=None if self.baseline is None else float(self.baseline),
            drop=None if fell is None else float(fell),
            p_value=p_value,
            n=self.n,
            runs_used=self.runs,
        )


def _measure(now: Scores, baseline: Sequence[Scores]) -> _Measured:
    runs = [run for run in baseline if any(run.values())]
    before: dict[UUID, list[int]] = {}
    for run in runs:
        for case, scores in run.items():
            before.setdefault(case, []).extend(scores)
    shared = [
        CaseScores(tuple(before[case]), tuple(scores))
        for case, scores in now.items()
        if scores and before.get(case)
    ]
    return _Measured(
        current=_average(now),
        baseline=_baseline(runs),
        p_value=lower_tail(shared) if shared else None,
        n=len(shared),
        runs=len(runs),
    )


def _baseline(runs: Sequence[Scores]) -> Fraction | None:
    """Return the mean of the runs' means."""
    graded = [run for run in runs if any(run.values())]
    return sum(map(_average, graded), Fraction(0)) / len(graded) if graded else None


def _average(scores: Scores) -> Fraction:
    every = [score for trials in scores.values() for score in trials]
    return Fraction(sum(every), len(every))


def _p(measured: _Measured) -> float:
    return 1.0 if measured.p_value is None else measured.p_value
