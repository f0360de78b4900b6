"""The exact test that a case's scores of now could as well have been among its earlier ones."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["CaseScores", "lower_tail"]

MOST_SUMS = 20_000
MOST_STEPS = 100_000_000
"""Up to so many sums, and steps over them, the distribution is counted out: about a second at most."""

_PRECISION = 96
"""Bits of a probability while it is counted: what is cut off is beyond what a float can show."""

_FIELD = 2 * _PRECISION + 1
_SHIFTED = 64
"""Sums of one case up to which shifting the product for each is cheaper than one multiplication."""

_DRAWS = 2_000_000
_MOST_RESAMPLES = 20_000


@dataclass(frozen=True, slots=True)
class CaseScores:
    """The scores (0-100) of one case's trials before and now."""

    before: tuple[int, ...]
    now: tuple[int, ...]


def lower_tail(cases: Iterable[CaseScores], rng: random.Random | None = None) -> float:
    """Return the chance that the cases' scores of now sum up to no more than they do, if nothing changed.

    If nothing changed, the trials of now are any of a case's trials with equal chance: of a case that passed
    or failed, the number of failures among them is hypergeometric, and Bernoulli for one trial. Cases without
    trials on both sides say nothing. Counted out; where that would take too long, by resampling with
    `rng`, which is seeded alike every time when it is not given.
    """
    open_cases = [case for case in cases if case.before and case.now and len({*case.before, *case.now}) > 1]
    if not open_cases:
        return 1.0
    lowest = [min(*case.before, *case.now) for case in open_cases]
    lifted = [
        CaseScores(tuple(score - low for score in case.before), tuple(score - low for score in case.now))
        for case, low in zip(open_cases, lowest, strict=True)
    ]
    step = math.gcd(*(score for case in lifted for score in (*case.before, *case.now)))
    observed = sum(sum(case.now) for case in lifted) // step
    pools = [([score // step for score in (*case.before, *case.now)], len(case.now)) for case in lifted]
    tops = [max(pool) * drawn for pool, drawn in pools]
    values = (
        min(math.comb(len(pool), drawn), top + 1, _SHIFTED)
        for top, (pool, drawn) in zip(tops, pools, strict=True)
    )
    if sum(tops) <= MOST_SUMS and sum(tops) * sum(values) <= MOST_STEPS:
        return _counted(pools, observed)
    return _resampled(pools, observed, rng or random.Random(20_240_229))


def _counted(pools: Iterable[tuple[Sequence[int], int]], observed: int) -> float:
    """Multiply the cases' polynomials, their coefficients packed as fields into one big integer each.

    Coefficients are probabilities in units of 2 to the minus `_PRECISION`. They sum up to 1 at most, so the
    fields of a product do not run into each other; sums beyond the one that was observed are left out.
    """
    kept = (1 << ((observed + 1) * _FIELD)) - 1
    whole = kept // ((1 << _FIELD) - 1) * ((1 << (_PRECISION + 1)) - 1)
    product = 1 << _PRECISION
    for pool, drawn in pools:
        total = math.comb(len(pool), drawn)
        chances = {value: (ways << _PRECISION) // total for value, ways in _draws(pool, drawn).items()}
        if len(chances) > _SHIFTED:
            product *= sum(chance << (value * _FIELD) for value, chance in chances.items())
        else:
            product = sum((product * chance) << (value * _FIELD) for value, chance in chances.items())
        product = ((product & kept) >> _PRECISION) & whole
    # The remainder is the sum of the fields.
    return max(1, product % ((1 << _FIELD) - 1)) / (1 << _PRECISION)


def _draws(pool: Sequence[int], drawn: int) -> Mapping[int, int]:
    """Count in how many ways `drawn` of the pool's values add up to each sum."""
    if drawn == 1:
        return Counter(pool)
    # Packed as above, one integer for each number of values taken.
    width = math.comb(len(pool), min(drawn, len(pool) // 2)).bit_length()
    ways = [1] + [0] * drawn
    for value in pool:
        for size in range(drawn, 0, -1):
            ways[size] += ways[size - 1] << (value * width)
    field = (1 << width) - 1
    sums = range(ways[drawn].bit_length() // width + 1)
    counted = ((one, (ways[drawn] >> (one * width)) & field) for one in sums)
    return {one: number for one, number in counted if number}


def _resampled(pools: Sequence[tuple[Sequence[int], int]], observed: int, rng: random.Random) -> float:
    resamples = min(_MOST_RESAMPLES, _DRAWS // sum(drawn for _, drawn in pools) + 1)
    hits = 0
    for _ in range(resamples):
        total = sum(rng.choice(pool) if drawn == 1 else sum(rng.sample(pool, drawn)) for pool, drawn in pools)
        hits += total <= observed
    return (hits + 1) / (resamples + 1)
