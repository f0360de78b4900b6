"""How the scheduler works."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["SchedulerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """How many completed runs it takes at once, and how often it looks at what.

    What is due is looked for every `poll`, what waits every `patience` and whenever a run of a schedule ends;
    every `recount` all next times are counted anew. At most `batch` schedules of an account are decided on in
    one transaction, and `accounts` accounts side by side.
    """

    concurrency: int = 8
    poll: timedelta = timedelta(seconds=1)
    patience: timedelta = timedelta(seconds=5)
    recount: timedelta = timedelta(hours=1)
    batch: int = 100
    accounts: int = 4
