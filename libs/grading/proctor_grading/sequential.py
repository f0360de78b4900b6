"""Two agents compared pair by pair, with a decision that may be looked for after every pair.

A pair is one case tried with A and with B. The evidence is a bet against "both pass equally often" that
nobody can expect to win, so that reaching 1/alpha at any look is no likelier than alpha (Ville's inequality).
For the same reason the confidence sequence holds the true difference at every look with the chance 1-alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor_contracts.verdicts import ComparisonVerdict

from .statistics import Interval

__all__ = ["Look", "Pairs", "Plan", "confidence_sequence", "decide", "evidence", "look"]

_STAKES = tuple(((number + 0.5) / 32) ** 2 for number in range(32))
"""Bets of the confidence sequence, as shares of the highest; small ones pay where pairs mostly agree."""

_HUGE = 700.0
"""The logarithm above which a float is infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """When to stop.

    `alpha` bounds the chance of a wrong better or worse over all looks together. `min_detectable`, a share,
    allows to stop because no difference of that size is left possible; None never does.

    Raises:
        ValueError: when a number is out of its range.
    """

    max_pairs: int
    alpha: float = 0.05
    min_detectable: float | None = None

    def __post_init__(self) -> None:
        if self.max_pairs < 1:
            raise ValueError("max_pairs must be at least 1")
        if not 0 < self.alpha < 1:
            raise ValueError("alpha must lie between 0 and 1")
        if self.min_detectable is not None and not 0 < self.min_detectable < 1:
            raise ValueError("min_detectable must lie between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs so far: those that only A passed (`worse`), that only B passed (`better`), and all others."""

    worse: int = 0
    better: int = 0
    same: int = 0

    @property
    def total(self) -> int:
        """All pairs."""
        return self.worse + self.better + self.same

    @property
    def difference(self) -> float:
        """B's pass rate less A's; not defined without pairs."""
        return (self.better - self.worse) / self.total

    def seen(self, *, a: bool, b: bool) -> Pairs:
        """Return the pairs with one more, in which A and B passed or not."""
        return Pairs(
            worse=self.worse + (a and not b), better=self.better + (b and not a), same=self.same + (a == b)
        )


@dataclass(frozen=True, slots=True)
class Look:
    """What is known after some pairs; `verdict` is None while it is worth going on."""

    verdict: ComparisonVerdict | None
    pairs: int
    difference: float | None
    interval: Interval
    evidence: float


def look(plan: Plan, pairs: Pairs) -> Look:
    """Decide, and say what is known so far."""
    return Look(
        verdict=decide(plan, pairs),
        pairs=pairs.total,
        difference=pairs.difference if pairs.total else None,
        interval=confidence_sequence(pairs, alpha=plan.alpha),
        evidence=evidence(pairs),
    )


def decide(plan: Plan, pairs: Pairs) -> ComparisonVerdict | None:
    """Decide whether the pairs so far are enough; None while it is worth going on."""
    if _log_evidence(pairs) >= -math.log(plan.alpha):
        return ComparisonVerdict.WORSE if pairs.worse > pairs.better else ComparisonVerdict.BETTER
    if plan.min_detectable is not None and _within(plan.min_detectable, pairs, plan.alpha):
        return ComparisonVerdict.NO_DIFFERENCE
    return ComparisonVerdict.UNDECIDED if pairs.total >= plan.max_pairs else None


def evidence(pairs: Pairs) -> float:
    """Return the odds against "A and B are alike": 2^(b+c) B(b+1, c+1) for b and c discordant pairs."""
    logarithm = _log_evidence(pairs)
    return math.exp(logarithm) if logarithm < _HUGE else math.inf


def _log_evidence(pairs: Pairs) -> float:
    apart = pairs.worse + pairs.better
    ways = math.lgamma(pairs.worse + 1) + math.lgamma(pairs.better + 1) - math.lgamma(apart + 2)
    return apart * math.log(2) + ways


def confidence_sequence(pairs: Pairs, *, alpha: float) -> Interval:
    """Return the differences of pass rates (B less A) that are left possible; valid at every look."""
    mirrored = Pairs(worse=pairs.better, better=pairs.worse, same=pairs.same)
    return (-_upper(mirrored, alpha), _upper(pairs, alpha))


def _within(bound: float, pairs: Pairs, alpha: float) -> bool:
    mirrored = Pairs(worse=pairs.better, better=pairs.worse, same=pairs.same)
    return _excludes(bound, pairs, alpha) and _excludes(bound, mirrored, alpha)


def _upper(pairs: Pairs, alpha: float) -> float:
    """Find the smallest difference that is excluded together with all above it; 1 when none is."""
    low, high = (pairs.difference if pairs.total else -1.0), 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _excludes(middle, pairs, alpha):
            high = middle
        else:
            low = middle
    return high


def _excludes(difference: float, pairs: Pairs, alpha: float) -> bool:
    """Whether bets that B's rate is less than A's plus `difference` have multiplied 2/alpha times.

    One bet of stake u multiplies by 1 - u(d - m)/(1 - m) for a pair's difference d and the mean m in
    question, which nobody can expect to win when the true mean is m or more. The fortunes are averaged.
    """
    if difference >= 1:
        return True
    room = 1 - difference
    logarithms = [
        pairs.better * math.log1p(-stake)
        + pairs.same * math.log1p(stake * difference / room)
        + pairs.worse * math.log1p(stake * (1 + difference) / room)
        for stake in _STAKES
    ]
    most = max(logarithms)
    mean = most + math.log(math.fsum(math.exp(one - most) for one in logarithms) / len(logarithms))
    return mean >= math.log(2 / alpha)
