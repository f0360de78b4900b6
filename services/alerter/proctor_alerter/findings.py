"""What a look found, as it is kept with the look and as it is told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self
from uuid import UUID

from proctor_contracts.alerts import CategoryChange
from proctor_contracts.verdicts import RegressionVerdict
from proctor_grading.regression import CategoryFinding

__all__ = ["Findings", "category_change", "whole_points"]

_ORDER = (
    RegressionVerdict.REGRESSION,
    RegressionVerdict.SUSPECTED,
    RegressionVerdict.DRIFT,
    RegressionVerdict.OK,
    RegressionVerdict.NO_BASELINE,
)


def whole_points(points: float) -> int:
    """Round points to whole ones, halves up."""
    return math.floor(points + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Every category of a run against the runs before, and those that were rerun once more.

    `threshold` is the drop in points and `runs_used` the number of earlier runs that the run was held
    against; `stale` says that newer runs of what fell had completed when this one was looked at.
    """

    threshold: float
    runs_used: int
    categories: Mapping[str, CategoryFinding]
    stale: bool = False
    reruns: Mapping[str, CategoryFinding] = field(default_factory=dict)

    def with_verdict(self, verdict: RegressionVerdict) -> Sequence[str]:
        """List the categories with this verdict, the deepest fallen first."""
        found = [name for name, one in self.categories.items() if one.verdict is verdict]
        return sorted(found, key=lambda name: (-(self.categories[name].drop or 0), name))

    @property
    def fallen(self) -> Sequence[str]:
        """The categories that regressed, or may have."""
        regressed = self.with_verdict(RegressionVerdict.REGRESSION)
        return (*regressed, *self.with_verdict(RegressionVerdict.SUSPECTED))

    @property
    def verdict(self) -> RegressionVerdict:
        """The worst verdict of any category."""
        seen = {one.verdict for one in self.categories.values()}
        return next((verdict for verdict in _ORDER if verdict in seen), RegressionVerdict.NO_BASELINE)

    def current(self) -> dict[str, int]:
        """The run's averages."""
        return {name: whole_points(one.current_avg) for name, one in sorted(self.categories.items())}

    def baseline(self) -> dict[str, int]:
        """The averages of the runs before, where there are any."""
        return {
            name: whole_points(one.baseline_avg)
            for name, one in sorted(self.categories.items())
            if one.baseline_avg is not None
        }

    def stored(self) -> dict[str, Any]:
        """The findings as a look keeps them; `read` gives them back."""
        return {
            "threshold": self.threshold,
            "runsUsed": self.runs_used,
            "stale": self.stale,
            "categories": {name: asdict(one) for name, one in self.categories.items()},
            "reruns": {name: asdict(one) for name, one in self.reruns.items()},
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `stored` wrote."""
        return cls(
            threshold=stored["threshold"],
            runs_used=stored["runsUsed"],
            stale=stored["stale"],
            categories={name: _finding(one) for name, one in stored["categories"].items()},
            reruns={name: _finding(one) for name, one in stored["reruns"].items()},
        )


def category_change(
    name: str,
    found: CategoryFinding,
    *,
    note: str | None = None,
    rerun: tuple[UUID, CategoryFinding] | None = None,
) -> CategoryChange:
    """Tell what became of a category that fell; with its rerun where that decided."""
    decided = found if rerun is None else rerun[1]
    return CategoryChange(
        category=name,
        current_avg=whole_points(found.current_avg),
        baseline_avg=whole_points(found.baseline_avg or 0),
        delta_points=whole_points(found.drop or 0),
        verdict=decided.verdict,
        p_value=decided.p_value,
        n=decided.n,
        runs_used=decided.runs_used,
        confirmed_by=None if rerun is None else rerun[0],
        confirmed_avg=None if rerun is None else whole_points(rerun[1].current_avg),
        note=note,
    )


def _finding(stored: Mapping[str, Any]) -> CategoryFinding:
    return CategoryFinding(**{**stored, "verdict": RegressionVerdict(stored["verdict"])})
