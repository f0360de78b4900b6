"""Lists of values in a few lengths, so that a database prepares a few statements and not hundreds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["padded"]

T = TypeVar("T")


def padded(values: Sequence[T]) -> Sequence[T]:
    """Repeat the last value up to the next power of two; what `IN` finds stays the same."""
    missing = (1 << (len(values) - 1).bit_length()) - len(values) if values else 0
    return [*values, *[values[-1]] * missing] if missing else values
