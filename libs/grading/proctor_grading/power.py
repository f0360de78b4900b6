"""How much must be run to see a difference: for new cases, for this very suite, and for a fixed plan."""

from __future__ import annotations

import math
from functools import cache

from .comparison import mcnemar
from .statistics import Z_80, Z_95, Z_975

__all__ = [
    "attempts_per_case",
    "cases_to_generalise",
    "mcnemar_power",
    "pairs_needed",
    "smallest_drop",
    "smallest_plan",
    "trials_needed",
    "unpaired_needed",
]

_TWO_SIDED = (Z_975 + Z_80) ** 2
_ONE_SIDED = (Z_95 + Z_80) ** 2
_SLACK = 1e-9


def cases_to_generalise(
    difference: float,
    *,
    between: float,
    within_a: float = 0.0,
    within_b: float = 0.0,
    attempts_a: int = 1,
    attempts_b: int = 1,
) -> int:
    """Return how many cases show a mean paired difference on unseen cases (5 % two-sided, power 80 %).

    `between` is the variance of the cases' true differences, `within` that of one attempt at a case.

    Raises:
        ValueError: when the difference is not greater than 0.
    """
    variance = between + within_a / attempts_a + within_b / attempts_b
    return _up(_TWO_SIDED * variance / _positive(difference) ** 2)


def pairs_needed(discordant: float, difference: float) -> int:
    """Return how many pass/fail pairs show a difference when a share `discordant` of them disagrees.

    Raises:
        ValueError: when the difference is not greater than 0.
    """
    square = _positive(difference) ** 2
    return _up(_TWO_SIDED * (discordant - square) / square)


def unpaired_needed(rate_a: float, rate_b: float) -> int:
    """Return how many cases each side needs when both are tested on cases of their own.

    Raises:
        ValueError: when the rates are equal.
    """
    variance = rate_a * (1 - rate_a) + rate_b * (1 - rate_b)
    return _up(_TWO_SIDED * variance / _positive(abs(rate_a - rate_b)) ** 2)


def trials_needed(drop: float, *, variance: float, ratio: float = 1.0) -> float:
    """Return how many trials show that this very suite got worse (5 % one-sided, power 80 %).

    `variance` is the mean of p(1-p) over the cases, `ratio` the number of baseline trials to one of now.

    Raises:
        ValueError: when the drop is not greater than 0.
    """
    return _ONE_SIDED * variance * (1 + 1 / ratio) / _positive(drop) ** 2


def attempts_per_case(cases: int, drop: float, *, variance: float, ratio: float = 1.0) -> int:
    """Return how often each of `cases` must be tried for `trials_needed`.

    Raises:
        ValueError: when the drop is not greater than 0.
    """
    return _up(trials_needed(drop, variance=variance, ratio=ratio) / cases)


def smallest_drop(trials: int, *, variance: float, ratio: float = 1.0) -> float:
    """Return the smallest drop, as a share, that so many trials show; the inverse of `trials_needed`."""
    return math.sqrt(_ONE_SIDED * variance * (1 + 1 / ratio) / trials)


def mcnemar_power(pairs: int, *, worse: float, better: float, alpha: float = 0.05) -> float:
    """Return the chance that `pairs` end in "B is worse" by McNemar's mid-p, counted out.

    `worse` is the chance that only A passes a pair, `better` that only B does.
    """
    apart = worse + better
    if apart == 0:
        return 0.0
    share = worse / apart
    return math.fsum(
        _binomial(number, pairs, apart)
        * math.fsum(_binomial(only_a, number, share) for only_a in range(first, number + 1))
        for number in range(1, pairs + 1)
        if (first := _critical(number, alpha)) is not None
    )


def smallest_plan(
    power: float, *, worse: float, better: float, alpha: float = 0.05, most: int = 2_000
) -> int:
    """Return the smallest number of pairs whose `mcnemar_power` is at least `power`.

    Raises:
        ValueError: when no plan of at most `most` pairs has it.
    """
    for pairs in range(1, most + 1):
        if mcnemar_power(pairs, worse=worse, better=better, alpha=alpha) >= power:
            return pairs
    raise ValueError(f"no plan of at most {most} pairs has a power of {power}")


@cache
def _critical(number: int, alpha: float) -> int | None:
    """The fewest of `number` discordant pairs that B must lose to be called worse; None if none would do."""
    first = None
    for lost in range(number, number // 2, -1):
        if mcnemar(lost, number - lost).mid_p > alpha:
            break
        first = lost
    return first


def _binomial(k: int, n: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * int(p))
    logarithm = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logarithm + k * math.log(p) + (n - k) * math.log1p(-p))


def _positive(difference: float) -> float:
    if difference <= 0:
        raise ValueError(f"a difference to look for must be greater than 0, not {difference}")
    return difference


def _up(number: float) -> int:
    """Round up, but not for the last bits of a float."""
    return math.ceil(number - _SLACK)
