"""What the alerter is told."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AlerterSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlerterSettings:
    """How many completed runs the alerter takes at once."""

    concurrency: int = 8
