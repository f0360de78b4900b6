"""Paired tests of two runs over the same cases."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["McNemar", "mcnemar", "sign_flip"]

EXACT_LIMIT = 20_000
RESAMPLES = 20_000


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two-sided p values of a paired binary comparison; the mid-p value decides."""

    exact: float
    mid_p: float


def mcnemar(b: int, c: int) -> McNemar:
    """Test b cases that only A passed against c that only B passed."""
    n = b + c
    if n == 0:
        return McNemar(1.0, 1.0)
    low = min(b, c)
    whole = 1 << n
    tail = sum(math.comb(n, i) for i in range(low + 1))
    point = math.comb(n, low)
    exact = min(1.0, 2 * tail / whole)
    mid = (2 * whole - point) / (2 * whole) if b == c else (2 * tail - point) / whole
    return McNemar(exact, mid)


def sign_flip(differences: Sequence[int], rng: random.Random | None = None) -> float:
    """Test paired integer differences by flipping signs: the two-sided p of a sum this far from 0.

    Exact where n·max|d| is at most 20,000 (after dividing by the common divisor), else by 20,000 resamples
    with `rng`, which is seeded alike every time when it is not given.
    """
    sizes = [abs(d) for d in differences if d]
    if not sizes:
        return 1.0
    divisor = math.gcd(*sizes)
    sizes = [size // divisor for size in sizes]
    observed = abs(sum(differences)) // divisor
    if observed == 0:
        return 1.0
    if len(sizes) * max(sizes) <= EXACT_LIMIT:
        return _exact(sizes, observed)
    return _resampled(sizes, observed, rng or random.Random(20_240_229))


def _exact(sizes: Sequence[int], observed: int) -> float:
    """Count sign patterns by multiplying the polynomials 1 + x^d, packed into one big integer.

    If T is the sum of the differences taken as positive, the flipped sum is 2T - total. A coefficient never
    exceeds 2^n, so fields of n + 2 bits do not run into each other.
    """
    width = len(sizes) + 2
    counts = 1
    for size in sizes:
        counts += counts << (size * width)
    total = sum(sizes)
    first = (total + observed + 1) // 2
    extreme = (counts >> (first * width)) % ((1 << width) - 1)  # the remainder is the sum of the fields
    return min(1.0, 2 * extreme / (1 << len(sizes)))


def _resampled(sizes: Sequence[int], observed: int, rng: random.Random) -> float:
    """Draw random signs eight at a time through tables of partial sums."""
    tables = [_sums(sizes[start : start + 8]) for start in range(0, len(sizes), 8)]
    hits = 0
    for _ in range(RESAMPLES):
        signs = rng.randbytes(len(tables))
        total = sum(table[byte % len(table)] for table, byte in zip(tables, signs, strict=True))
        hits += abs(total) >= observed
    return (hits + 1) / (RESAMPLES + 1)


def _sums(sizes: Sequence[int]) -> list[int]:
    sums = [0]
    for size in sizes:
        sums = [value + size for value in sums] + [value - size for value in sums]
    return sums
