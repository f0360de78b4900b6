"""Statistics of pass rates, scores and comparisons, from the standard library alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "Z_80",
    "Z_95",
    "Z_975",
    "Clustered",
    "Interval",
    "MeanInterval",
    "clopper_pearson",
    "clustered",
    "half_up",
    "mean_interval",
    "minimum_detectable",
    "percentile",
    "t_quantile",
    "wilson",
]

Z_975 = 1.959963984540054
Z_95 = 1.644853626951472
Z_80 = 0.841621233572914

Interval = tuple[float, float]
"""Lower and upper bound."""


def half_up(num: int, den: int) -> int:
    """Divide to the nearest integer, halves up (12.5 to 13), for num ≥ 0 and den > 0."""
    return (2 * num + den) // (2 * den)


def percentile(values: Sequence[int], q: int) -> int | None:
    """Return the q-th percentile by nearest rank, the ⌈q·n/100⌉-th smallest value; None of nothing."""
    if not values:
        return None
    rank = max(1, -(-q * len(values) // 100))
    return sorted(values)[rank - 1]


def wilson(k: float, n: float, z: float = Z_975) -> Interval:
    """Return the Wilson score interval of k in n, which may be effective counts; [0, 1] of nothing."""
    if n <= 0:
        return (0.0, 1.0)
    p = k / n
    spread = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / spread
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / spread
    low = 0.0 if k <= 0 else max(0.0, centre - half)
    high = 1.0 if k >= n else min(1.0, centre + half)
    return (low, high)


def clopper_pearson(k: int, n: int, alpha: float = 0.05) -> Interval:
    """Return the exact binomial interval of k successes in n; [0, 1] of nothing."""
    if n <= 0:
        return (0.0, 1.0)
    low = 0.0 if k == 0 else _beta_quantile(alpha / 2, k, n - k + 1)
    high = 1.0 if k == n else _beta_quantile(1 - alpha / 2, k + 1, n - k)
    return (low, high)


@dataclass(frozen=True, slots=True)
class Clustered:
    """A pass rate over cases with several trials: `se` is None with fewer than two cases."""

    rate: float
    se: float | None
    effective_n: float
    interval: Interval


def clustered(counts: Iterable[tuple[int, int]]) -> Clustered | None:
    """Estimate a pass rate from (passes, trials) per case, trials of one case being alike; None of nothing.

    The standard error carries the finite-cluster factor C/(C-1); the interval is Wilson's on the effective
    number of trials, which lies between the number of cases and that of trials.
    """
    cases = [(k, n) for k, n in counts if n > 0]
    if not cases:
        return None
    total = sum(n for _, n in cases)
    rate = sum(k for k, _ in cases) / total
    size = len(cases)
    se = None
    effective = float(size)
    if size > 1:
        squares = sum((k - n * rate) ** 2 for k, n in cases)
        se = math.sqrt(size / (size - 1) * squares) / total
        if se > 0:
            effective = min(float(total), max(float(size), rate * (1 - rate) / se**2))
    return Clustered(rate, se, effective, wilson(rate * effective, effective))


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean with its standard error and 95 % t interval.

    Error and interval are None of one value; `zero_variance` marks an interval that is a point because all
    values were equal.
    """

    mean: float
    se: float | None
    interval: Interval | None
    n: int
    zero_variance: bool = False


def mean_interval(values: Sequence[float]) -> MeanInterval | None:
    """Estimate the mean of per-case values; None of nothing. The interval is not clamped."""
    n = len(values)
    if n == 0:
        return None
    mean = math.fsum(values) / n
    if n == 1:
        return MeanInterval(mean, None, None, 1)
    se = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    if se == 0:
        return MeanInterval(mean, 0.0, (mean, mean), n, zero_variance=True)
    half = t_quantile(0.975, n - 1) * se
    return MeanInterval(mean, se, (mean - half, mean + half), n)


def minimum_detectable(sd: float, n: int) -> float | None:
    """Return the smallest paired difference that n pairs show with 80 % power at 5 %; None of nothing."""
    return (Z_975 + Z_80) * sd / math.sqrt(n) if n > 0 else None


def t_quantile(p: float, df: int) -> float:
    """Return the quantile of Student's t for 0 < p < 1."""
    if p == 0.5:  # noqa: PLR2004 - the median
        return 0.0
    if p < 0.5:  # noqa: PLR2004 - the lower half mirrors the upper
        return -t_quantile(1 - p, df)
    tail = 2 * (1 - p)
    # x = df / (df + t²) has the beta distribution with df/2 and 1/2.
    x = _beta_quantile(tail, df / 2, 0.5)
    return math.sqrt(df * (1 - x) / x)


def _beta_quantile(p: float, a: float, b: float) -> float:
    return _bisect(lambda x: _beta_cdf(x, a, b) - p)


def _bisect(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if rising(middle) < 0:
            low = middle
        else:
            high = middle


def _beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by Lentz's continued fraction."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300
    c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    result = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d, tiny)
            c = _away_from_zero(1 + term / c, tiny)
            result *= c * d
        if abs(c * d - 1) < 1e-16:  # noqa: PLR2004 - as exact as a float gets
            break
    return result


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
