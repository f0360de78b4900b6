"""What the scheduler asks for, and what the alerter found."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from typing_extensions import override

from proctor_contracts.alerts import CategoryChange
from proctor_contracts.topology import EVENTS, Exchange
from proctor_contracts.verdicts import RegressionVerdict

from .base import Message, RunMessage

__all__ = ["RegressionDetected", "ScheduleFired"]


class ScheduleFired(Message):
    """A schedule's time has come: start its run. `fire` counts how often this planned time was put off."""

    exchange: ClassVar[Exchange] = EVENTS

    account_id: UUID
    schedule_id: UUID
    tick_id: UUID
    planned_at: datetime
    fire: int = 0

    @override
    def key(self) -> str:
        """Route to the API, which writes runs."""
        return "schedule.fired"

    @override
    def id(self) -> str:
        """Name the planned time."""
        return f"{self.tick_id}:{self.fire}"

    @override
    def correlation(self) -> str:
        """Name the schedule."""
        return str(self.schedule_id)


class RegressionDetected(RunMessage):
    """Categories of a run fell against the runs before.

    Those in `confirm` want one rerun of their cases with so many `trials` before anybody is alarmed.
    """

    exchange: ClassVar[Exchange] = EVENTS

    account_id: UUID
    integration_id: UUID
    verdict: RegressionVerdict
    categories: tuple[CategoryChange, ...]
    confirm: tuple[str, ...] = ()
    trials: int = 3
    confirmed_by: UUID | None = None

    @override
    def key(self) -> str:
        """Route to the API, which starts the rerun."""
        return "regression.detected"

    @override
    def id(self) -> str:
        """Name the look: the first one, or that at the rerun."""
        return f"{self.run_id}:regression:{self.confirmed_by or 'first'}"
