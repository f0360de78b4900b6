"""P values of several tests at once, adjusted so that each may be held against the usual limit."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ALPHA", "FALSE_DISCOVERIES", "benjamini_hochberg", "holm"]

ALPHA = 0.05
"""The chance of any false alarm in a family that is adjusted by `holm`."""

FALSE_DISCOVERIES = 0.10
"""The share of false alarms among those raised in drill-downs that are adjusted by `benjamini_hochberg`."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust against any false alarm in the family (Holm), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(_ascending(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjust for the share of false alarms among those raised (Benjamini-Hochberg), in the order given."""
    adjusted = [0.0] * len(p_values)
    smallest = 1.0
    for rank, index in reversed(list(enumerate(_ascending(p_values), 1))):
        smallest = min(smallest, len(p_values) * p_values[index] / rank)
        adjusted[index] = smallest
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)
