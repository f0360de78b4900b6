"""The share of a budget that one judging may spend, safe with several calls in flight."""

from __future__ import annotations

__all__ = ["Purse"]


class Purse:
    """Holds micro-USD: a call first takes its worst case, and gives back what it did not use.

    Without a limit (None) everything fits. So does a call of unknown price, since nothing could be enforced.
    """

    def __init__(self, limit_micro_usd: int | None) -> None:
        self._left = limit_micro_usd

    @property
    def left(self) -> int | None:
        """What neither was spent nor is taken; None without a limit."""
        return self._left

    def take(self, worst: int | None) -> bool:
        """Take the worst case of a call about to be made, or say that it does not fit."""
        if self._left is None or worst is None:
            return True
        if worst > self._left:
            return False
        self._left -= worst
        return True

    def settle(self, worst: int | None, cost: int | None) -> None:
        """Give back the rest after a call; of an unknown cost nothing comes back."""
        if self._left is not None and worst is not None and cost is not None:
            self._left += worst - cost
