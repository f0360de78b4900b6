"""The exact test that a case's scores of now could as well have been among its earlier ones."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["CaseScores", "lower_tail"]

EXACT_BITS = 20_000_000
"""Up to this size the distribution is counted out, in well under a second."""

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
    trials on both sides say nothing. Counted out exactly; where that would take too long, by resampling with
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
    width = sum(math.comb(len(pool), drawn).bit_length() for pool, drawn in pools) + 1
    if width * sum(max(pool) * drawn for pool, drawn in pools) <= EXACT_BITS:
        return _counted(pools, observed, width)
    return _resampled(pools, observed, rng or random.Random(20_240_229))


def _counted(pools: Iterable[tuple[Sequence[int], int]], observed: int, width: int) -> float:
    """Multiply the cases' polynomials, the coefficients packed `width` bits apart into one big integer.

    No coefficient exceeds the product of the numbers of draws, so the fields do not run into each other.
    """
    product, total = 1, 1
    for pool, drawn in pools:
        product = sum((product * ways) << (value * width) for value, ways in draws(pool, drawn).items())
        total *= math.comb(len(pool), drawn)
    kept = product & ((1 << ((observed + 1) * width)) - 1)
    return (kept % ((1 << width) - 1)) / total  # the remainder is the sum of the fields


def draws(pool: Sequence[int], drawn: int) -> Mapping[int, int]:
    """Count in how many ways `drawn` of the pool's values add up to each sum."""
    ways: list[Counter[int]] = [Counter({0: 1}), *(Counter[int]() for _ in range(drawn))]
    for value in pool:
        for size in range(drawn, 0, -1):
            for total, number in ways[size - 1].items():
                ways[size][total + value] += number
    return ways[drawn]


def _resampled(pools: Sequence[tuple[Sequence[int], int]], observed: int, rng: random.Random) -> float:
    resamples = min(_MOST_RESAMPLES, _DRAWS // sum(drawn for _, drawn in pools) + 1)
    hits = 0
    for _ in range(resamples):
        total = sum(rng.choice(pool) if drawn == 1 else sum(rng.sample(pool, drawn)) for pool, drawn in pools)
        hits += total <= observed
    return (hits + 1) / (resamples + 1)
