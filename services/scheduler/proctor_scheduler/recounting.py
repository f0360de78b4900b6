"""Counts the next times of all schedules anew: time zones change their rules, and clocks are set right."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from proctor_chassis.clock import Clock
from proctor_schedules.deciding import recount
from proctor_schedules.faults import ScheduleFault
from proctor_schedules.zones import forget_zones
from proctor_store.repositories import schedules
from proctor_store.repositories.schedules import DueSchedule
from proctor_store.session import Database

from .planning import count_of

__all__ = ["Recounting"]

PAGE = 200
log = logging.getLogger(__name__)


class Recounting:
    """Goes through all active schedules, in small transactions."""

    def __init__(self, *, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def recount(self) -> int:
        """Correct what is no longer right; returns how many schedules that were.

        Raises:
            StoreUnavailable: when the database is away.
        """
        forget_zones()
        moved, after = 0, None
        while True:
            async with self._database.transaction() as unit:
                now = await schedules.moment(unit, clock=self._clock.now())
                found = await schedules.page(unit, after=after, limit=PAGE)
                changes: dict[UUID, dict[str, Any]] = {}
                for schedule in found:
                    if new := _changed(schedule, now):
                        changes[schedule.id] = new
                await schedules.save(unit, changes)
            moved += len(changes)
            for schedule_id in changes:
                log.info("schedule.moved", extra={"schedule": str(schedule_id)})
            if len(found) < PAGE:
                return moved
            after = found[-1].id


def _changed(schedule: DueSchedule, now: Any) -> dict[str, Any]:
    try:
        count, coming = recount(count_of(schedule), now=now)
    except ScheduleFault:
        return {}
    if (count.since, coming) == (schedule.counted_from, schedule.next_run_at):
        return {}
    return {"counted_from": count.since, "counted_local": count.local, "next_run_at": coming}
