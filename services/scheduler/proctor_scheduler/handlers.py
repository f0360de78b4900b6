"""What the scheduler does with a completed run."""

from __future__ import annotations

import logging
from collections.abc import Callable

from proctor_chassis.bus import Meta
from proctor_chassis.outage import Outage
from proctor_contracts.messages import RunCompleted
from proctor_store.repositories import schedules
from proctor_store.session import Database

__all__ = ["Handlers"]

_log = logging.getLogger(__name__)


class Handlers:
    """Takes completed runs off the scheduler's queue; `freed` is called when one was a schedule's."""

    def __init__(self, *, database: Database, outage: Outage, freed: Callable[[], None]) -> None:
        self._database = database
        self._outage = outage
        self._freed = freed

    async def run_completed(self, message: RunCompleted, meta: Meta) -> None:
        """Note how the run ended, and look at once whether its schedule waited for that; twice is as once.

        Raises:
            RetryLater: when the database is away.
        """
        if message.schedule_id is None:
            return
        with self._outage.again_later():
            async with self._database.transaction() as unit:
                last = await schedules.run_ended(
                    unit, message.schedule_id, message.run_id, message.status.value
                )
        _log.info(
            "schedule.run_completed",
            extra={
                "schedule": str(message.schedule_id),
                "run": str(message.run_id),
                "status": message.status.value,
                "last": last,
                "delivery": meta.delivery,
            },
        )
        self._freed()
