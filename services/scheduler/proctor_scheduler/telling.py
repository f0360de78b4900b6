"""What the scheduler says of its decisions: one log line each, and the figures that operators watch."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from proctor_chassis.metrics import Meters
from proctor_contracts.schedules import TickStatus
from proctor_store.repositories.schedules import DueSchedule

from .planning import Plan

__all__ = ["Teller"]

log = logging.getLogger(__name__)
_EVENTS = {
    TickStatus.FIRED: "schedule.fired",
    TickStatus.WAITING: "schedule.waits",
    TickStatus.MISSED: "schedule.missed",
    TickStatus.REFUSED: "schedule.refused",
}


class Teller:
    """Logs and counts what was committed."""

    def __init__(self, *, meters: Meters) -> None:
        self._meters = meters

    def waiting(self, count: int) -> None:
        """Show how many schedules wait."""
        self._meters.schedules_waiting.set(count)

    def told(
        self, planned: Sequence[tuple[DueSchedule, Plan]], new: Collection[UUID], *, now: datetime
    ) -> None:
        """Say what became of schedules; `new` are those whose planned time was not known before."""
        for schedule, made in planned:
            if made.fault is not None:
                log.error(
                    "schedule.unreadable",
                    extra={"schedule": str(schedule.id), "code": made.fault.code, "reason": str(made.fault)},
                )
            if made.new is not None and schedule.id in new:
                tick, status, reason = made.new
                self._tick(schedule, status, tick.planned_at, now=now, missed=tick.missed, reason=reason)
            if made.released is not None:
                self._tick(schedule, TickStatus.FIRED, made.released.planned_at, now=now)
            for refused in made.refused:
                self._tick(schedule, TickStatus.REFUSED, refused.planned_at, now=now)
            for asked in made.again:
                self._meters.schedule_ticks.add(outcome="asked_again")
                log.warning(
                    "schedule.asked_again", extra={"schedule": str(schedule.id), "tick": str(asked.id)}
                )

    def _tick(
        self,
        schedule: DueSchedule,
        status: TickStatus,
        planned_at: datetime,
        *,
        now: datetime,
        missed: int = 0,
        reason: str | None = None,
    ) -> None:
        late = (now - planned_at).total_seconds()
        self._meters.schedule_ticks.add(outcome=status.value)
        if missed:
            self._meters.schedule_ticks.add(missed, outcome=TickStatus.MISSED.value)
        if status is TickStatus.FIRED:
            self._meters.schedule_lateness_seconds.set(late)
        log.log(
            logging.WARNING if status is TickStatus.REFUSED else logging.INFO,
            _EVENTS[status],
            extra={
                "schedule": str(schedule.id),
                "planned_at": planned_at.isoformat(),
                "late_seconds": round(late, 3),
                "missed": missed,
                "reason": reason,
            },
        )
