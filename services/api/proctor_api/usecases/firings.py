"""Runs of schedules: each tick that was fired becomes one run, waits, or is refused with its reason."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError
from proctor_contracts.messages import ScheduleFired
from proctor_contracts.schedules import CaseMode, Waiting
from proctor_store.repositories import outbox, pipeline, schedule_records, ticks
from proctor_store.repositories.schedule_records import ScheduleRecord
from proctor_store.session import Database, Unit

from .run_drafting import RunDrafter
from .run_writing import RunWriter
from .schedule_rules import in_mode, run_of

__all__ = ["Firing", "Firings"]

_PASSES = {
    HTTPStatus.PAYMENT_REQUIRED: Waiting.BALANCE,
    HTTPStatus.TOO_MANY_REQUESTS: Waiting.QUOTA,
}
_log = logging.getLogger(__name__)


class Firing(StrEnum):
    """What became of one fired tick; `known` was decided before, or its schedule is gone."""

    STARTED = "started"
    KNOWN = "known"
    PUT_OFF = "put_off"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Firings:
    """Starts the runs of fired ticks.

    The schedule's lock, taken before the account's as the scheduler takes them, lets one replica at a time
    decide about a tick, and lets an edit of the schedule happen before or after its run starts.
    """

    database: Database
    clock: Callable[[], datetime]
    writer: RunWriter
    drafter: RunDrafter

    async def fire(self, event: ScheduleFired) -> Firing:
        """Start a tick's run as the schedule is now; hearing of the tick again starts none."""
        try:
            done = await self._start(event)
        except ApiError as error:
            done = await self._answer(event, error)
        _log.info(
            "schedule.run",
            extra={"schedule": str(event.schedule_id), "tick": str(event.tick_id), "outcome": done.value},
        )
        return done

    async def give_up(self, event: ScheduleFired, reason: str) -> Firing:
        """Refuse a tick that could not be handled, so that its schedule goes on."""
        return await self._answer(event, ApiError(500, "given_up", reason))

    async def resend(self) -> int:
        """Ask again for the runs of fired ticks, for a process whose bus ended with it; returns how many."""
        async with self.database.transaction() as unit:
            lost = await ticks.outstanding(unit)
            return await outbox.add(unit, map(outbox.Outgoing.of, lost), now=self.clock())

    async def _start(self, event: ScheduleFired) -> Firing:
        async with self.database.transaction() as unit:
            if (schedule := await self._fired(unit, event)) is None:
                return Firing.KNOWN
            run_id = await self._write(unit, schedule)
            await ticks.started(unit, schedule.id, event.tick_id, run_id, now=self.clock())
        return Firing.STARTED

    async def _write(self, unit: Unit, schedule: ScheduleRecord) -> UUID:
        if not schedule.is_active:
            raise ApiError(409, "switched_off", "the schedule was switched off before its run started")
        caller = Caller(schedule.account_id)
        mode = CaseMode.model_validate(schedule.mode)
        body = run_of(schedule.integration_id, mode)
        account = (await pipeline.lock_accounts(unit, [schedule.account_id]))[schedule.account_id]
        await self.writer.admit(unit, account, reserved=True)
        with in_mode(mode):
            self.drafter.check(body)
            draft = await self.drafter.from_body(unit, caller, body)
            return await self.writer.write(unit, caller, replace(draft, schedule_id=schedule.id))

    async def _answer(self, event: ScheduleFired, error: ApiError) -> Firing:
        """Write down why there is no run: nothing else of the attempt was kept."""
        waiting = _PASSES.get(HTTPStatus(error.status))
        reason = f"{error.code}: {error.detail}"
        async with self.database.transaction() as unit:
            if (schedule := await self._fired(unit, event)) is None:
                return Firing.KNOWN
            if waiting is None or not schedule.is_active:
                await ticks.refused(unit, schedule.id, event.tick_id, reason)
                return Firing.REFUSED
            await ticks.put_off(unit, schedule.id, event.tick_id, waiting=waiting, reason=reason)
        return Firing.PUT_OFF

    async def _fired(self, unit: Unit, event: ScheduleFired) -> ScheduleRecord | None:
        """Lock the schedule of a tick that is still to be started."""
        schedule = await schedule_records.get(unit, event.account_id, event.schedule_id, lock=True)
        if schedule is None or not await ticks.fired(unit, schedule.id, event.tick_id):
            return None
        return schedule
