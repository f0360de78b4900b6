"""What the scheduler is told."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SchedulerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """How many completed runs the scheduler takes at once."""

    concurrency: int = 1
