"""Statistics of pass rates and scores, from the standard library alone."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["half_up", "percentile"]


def half_up(num: int, den: int) -> int:
    """Divide to the nearest integer, halves up (12.5 to 13), for num ≥ 0 and den > 0."""
    return (2 * num + den) // (2 * den)


def percentile(values: Sequence[int], q: int) -> int | None:
    """Return the q-th percentile by nearest rank, the ⌈q·n/100⌉-th smallest value; None of nothing."""
    if not values:
        return None
    rank = max(1, -(-q * len(values) // 100))
    return sorted(values)[rank - 1]
