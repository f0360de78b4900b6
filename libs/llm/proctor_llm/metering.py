"""Counting model calls: from one try to the counters of a process."""

from __future__ import annotations

from typing import Protocol

from .calls import Meter, TryRecord

__all__ = ["Counter", "counting"]


class Counter(Protocol):
    """A counter with labels."""

    def add(self, amount: float = 1, **labels: str) -> None:
        """Count up."""
        ...


def counting(*, calls: Counter, cost_micro_usd: Counter) -> Meter:
    """Make a meter that counts every try, and its cost where that is known."""

    def count(tried: TryRecord) -> None:
        calls.add(provider=tried.provider, outcome=tried.outcome)
        if tried.cost_micro_usd:
            cost_micro_usd.add(tried.cost_micro_usd, provider=tried.provider)

    return count
