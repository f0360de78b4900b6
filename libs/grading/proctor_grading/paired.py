"""The paired test of pass rates over cases that were graded twice, as a whole and by category."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from proctor_contracts.diff import CategoryDiff, PairedTest

from .comparison import mcnemar, sign_flip
from .corrections import ALPHA, benjamini_hochberg
from .statistics import mean_interval, minimum_detectable

__all__ = ["Pair", "by_category", "paired_test"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One case's (passed, graded) first attempts before and after, both graded at least once."""

    category: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def delta(self) -> Fraction:
        """The pass rate after less that before."""
        return Fraction(*self.after) - Fraction(*self.before)

    @property
    def single(self) -> bool:
        """Whether there was one attempt on both sides."""
        return self.before[1] == self.after[1] == 1


def paired_test(pairs: Sequence[Pair]) -> PairedTest:
    """Test at least one pair: mid-p McNemar for one trial a case, else sign flips of per-case differences."""
    deltas = [pair.delta for pair in pairs]
    better, worse = _moved(deltas)
    single = all(pair.single for pair in pairs)
    if single:
        paired = mcnemar(worse, better)
        p_value, p_exact = paired.mid_p, paired.exact
    else:
        p_value = p_exact = _flipped(deltas)
    mean = mean_interval([float(delta) for delta in deltas])
    return PairedTest(
        method="mcnemar_mid_p" if single else "permutation",
        pairs=len(pairs),
        better=better,
        worse=worse,
        p_value=p_value,
        p_exact=p_exact,
        rate_a=float(sum(Fraction(*pair.before) for pair in pairs) / len(pairs)),
        rate_b=float(sum(Fraction(*pair.after) for pair in pairs) / len(pairs)),
        mean_difference=float(sum(deltas) / len(deltas)),
        ci95=mean.interval if mean else None,
        smallest_detectable=_smallest(pairs),
    )


def by_category(pairs: Iterable[Pair]) -> tuple[CategoryDiff, ...]:
    """Test each category in which something changed; the strongest evidence comes first."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.category, []).append(pair)
    tests = [(category, paired_test(groups[category])) for category in sorted(groups)]
    adjusted = benjamini_hochberg([test.p_value for _, test in tests])
    found = [
        CategoryDiff(
            category=category,
            pairs=test.pairs,
            better=test.better,
            worse=test.worse,
            mean_difference=test.mean_difference or 0.0,
            p_value=test.p_value,
            adjusted=p,
        )
        for (category, test), p in zip(tests, adjusted, strict=True)
        if test.better or test.worse
    ]
    return tuple(sorted(found, key=lambda one: (one.p_value, one.category)))


def _smallest(pairs: Sequence[Pair]) -> float | None:
    """The smallest difference these pairs show, which is never less than what the test itself asks for.

    Where pairs hardly differ their spread says too little: fewer cases than `_fewest` cannot convince the
    test however they turn out.
    """
    single = all(pair.single for pair in pairs)
    fewest = _fewest(single=single)
    if fewest > len(pairs):
        return None
    step = 1 if single else min(Fraction(1, pair.after[1]) for pair in pairs)
    least = float(Fraction(fewest, len(pairs)) * step)
    mean = mean_interval([float(pair.delta) for pair in pairs])
    if mean is None or mean.se is None:
        return least
    return max(least, minimum_detectable(mean.se * math.sqrt(mean.n), mean.n) or 0.0)


def _fewest(*, single: bool) -> int:
    """How many cases must change, all in one direction, before the test calls it more than noise."""
    number = 1
    while (mcnemar(number, 0).mid_p if single else mcnemar(number, 0).exact) > ALPHA:
        number += 1
    return number


def _flipped(deltas: Sequence[Fraction]) -> float:
    scale = math.lcm(*(delta.denominator for delta in deltas))
    return sign_flip([int(delta * scale) for delta in deltas])


def _moved(deltas: Iterable[Fraction]) -> tuple[int, int]:
    moved = [delta > 0 for delta in deltas if delta]
    return sum(moved), len(moved) - sum(moved)
