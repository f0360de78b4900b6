"""Comparisons that go on until they are decided, over REST."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from proctor_contracts.base import TYPED, Strict, Wire
from proctor_contracts.verdicts import ComparisonVerdict

__all__ = ["CellStanding", "UntilDecided"]


class UntilDecided(Strict):
    """Spend further trials where the answer is open, and stop at a decision or a limit.

    A trial is a pair: one case in the baseline and in the other cell; each cell has at most `maxTrials` of
    them. `alpha` bounds the chance of any wrong better or worse over all cells and all looks together.
    `minDetectable`, a share, allows to stop because no difference of that size is left possible.
    """

    max_trials: Annotated[int, Field(ge=1, le=100_000), TYPED]
    alpha: Annotated[float, Field(gt=0, lt=1), TYPED] = 0.05
    min_detectable: Annotated[float, Field(gt=0, lt=1), TYPED] | None = None


class CellStanding(Wire):
    """What a cell's trials show against the baseline so far; `verdict` is null while it is open.

    `trials` were played, `pairs` of them brought a verdict on both sides. `difference` and `interval` are
    shares of the cell less the baseline; the interval holds at every look. `evidence` are the odds against
    "both are alike".
    """

    cell: int
    verdict: ComparisonVerdict | None
    summary: str
    trials: int
    pairs: int
    difference: float | None
    interval: tuple[float, float]
    evidence: float
