"""How long things are kept, and how long an export that failed waits for its next try."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from proctor_contracts.schedules import Notifications
from proctor_store.repositories.retention import Cutoffs

__all__ = ["Ages", "looked_back", "wait_after"]

FIRST_WAIT = timedelta(minutes=5)
LONGEST_WAIT = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """How long runs that ended, cancelled runs, and alerts are kept; None means for ever.

    A run's age counts from its end, that of an alert, a look or a planned time from when it was written.
    """

    runs: timedelta | None = timedelta(days=30)
    cancelled: timedelta | None = timedelta(days=1)
    alerts: timedelta | None = timedelta(days=90)

    def cutoffs(self, now: datetime) -> Cutoffs:
        """Before which moments a run must have ended to be past its time."""
        return Cutoffs(ended=_before(now, self.runs), cancelled=_before(now, self.cancelled))

    def alerts_before(self, now: datetime) -> datetime | None:
        """Before which moment alerts are past their time."""
        return _before(now, self.alerts)


def looked_back(wanted: Notifications) -> int:
    """How many of its newest runs a schedule needs to tell of runs in a row; 0 when it tells of none.

    One more than its threshold: whether a row of failures is told of for the first time, or has ended.
    """
    failing = wanted.threshold if wanted.on_failure or wanted.on_recovery else 0
    losing = wanted.gate_threshold if wanted.on_gate_failure else 0
    most = max(failing, losing)
    return most + 1 if most else 0


def wait_after(failures: int) -> timedelta:
    """How long a run's export waits after so many failures: twice as long each time, at most a day."""
    doublings = min(failures - 1, 16)
    return min(FIRST_WAIT * int(2**doublings), LONGEST_WAIT)


def _before(now: datetime, age: timedelta | None) -> datetime | None:
    return None if age is None else now - age
