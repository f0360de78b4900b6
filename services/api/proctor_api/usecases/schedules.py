"""Schedules: clocks for an integration's runs, and what became of their ticks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, not_found
from proctor_contracts.ids import new_id
from proctor_contracts.schedules import CaseMode, Notifications
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_contracts.schemas.schedules import (
    ScheduleCreate,
    SchedulePatch,
    SchedulePreview,
    ScheduleTimes,
    ScheduleView,
    TickView,
)
from proctor_store.conflicts import Vanished
from proctor_store.paging import Page
from proctor_store.repositories import schedule_records
from proctor_store.repositories.schedule_records import ScheduleRecord
from proctor_store.session import Database, Unit

from .integrations import integration_of
from .run_drafting import RunDrafter
from .run_writing import results_of
from .schedule_rules import in_mode, run_of, schedule_view, tick_view, timetable

__all__ = ["Schedules"]

_ALIASES = {name: field.alias or name for name, field in SchedulePatch.model_fields.items()}


@dataclass(frozen=True, slots=True)
class Schedules:
    """Creates, reads, changes and deletes the account's schedules; firing them is the scheduler's work.

    A schedule counts from the moment at which it is made, switched on, or given another clock: nothing before
    that is due. Its row is locked while it changes, so that it fires either as it was or as it is then.
    """

    database: Database
    clock: Callable[[], datetime]
    drafter: RunDrafter

    async def create(self, caller: Caller, body: ScheduleCreate) -> ScheduleView:
        """Add a schedule.

        Raises:
            ApiError: 400 naming the fields, 404 for an integration or cases that do not exist.
        """
        clock = timetable(body.cron_expression, body.timezone)
        now = self.clock()
        record = ScheduleRecord(
            id=new_id(),
            account_id=caller.account_id,
            integration_id=body.integration_id,
            name=body.name,
            cron_expression=clock.cron.text,
            timezone=body.timezone,
            mode=_written(body.mode),
            notifications=_written(body.notifications),
            is_active=body.is_active,
            counted_from=now,
            next_run_at=clock.next_after(now) if body.is_active else None,
            created_at=now,
            updated_at=now,
        )
        async with self.database.transaction() as unit:
            await self._playable(unit, caller, body.integration_id, body.mode)
            try:
                await schedule_records.create(unit, record)
            except Vanished as error:
                raise not_found("integration") from error
            return await self._view(unit, caller, record.id)

    async def get(self, caller: Caller, schedule_id: UUID) -> ScheduleView:
        """Read one.

        Raises:
            ApiError: 404.
        """
        async with self.database.reading() as unit:
            return await self._view(unit, caller, schedule_id)

    async def list(
        self,
        caller: Caller,
        page: Page,
        *,
        integration_id: UUID | None = None,
        is_active: bool | None = None,
    ) -> Listing[ScheduleView]:
        """List them, newest first.

        Raises:
            ApiError: 404 for an unknown integration.
        """
        async with self.database.reading() as unit:
            if integration_id is not None:
                await integration_of(unit, caller, integration_id)
            rows = await schedule_records.listed(
                unit, caller.account_id, page, integration_id=integration_id, is_active=is_active
            )
        now = self.clock()
        return Listing[ScheduleView](
            data=tuple(schedule_view(row, now=now) for row in rows.items),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def patch(self, caller: Caller, schedule_id: UUID, body: SchedulePatch) -> ScheduleView:
        """Change the named fields.

        Raises:
            ApiError: 400 naming the fields, 404.
        """
        named = {name: getattr(body, name) for name in body.model_fields_set}
        if cleared := sorted(_ALIASES[name] for name, value in named.items() if value is None):
            raise bad_request(FieldProblem(path=field, message="cannot be null") for field in cleared)
        async with self.database.transaction() as unit:
            found = await self._locked(unit, caller, schedule_id)
            await self._change(unit, caller, found, body)
            return await self._view(unit, caller, schedule_id)

    async def toggle(self, caller: Caller, schedule_id: UUID) -> ScheduleView:
        """Switch a schedule off, or on from now.

        Raises:
            ApiError: 404, 400 when it is switched on and could not be played.
        """
        async with self.database.transaction() as unit:
            found = await self._locked(unit, caller, schedule_id)
            await self._change(unit, caller, found, SchedulePatch(is_active=not found.is_active))
            return await self._view(unit, caller, schedule_id)

    async def delete(self, caller: Caller, schedule_id: UUID) -> None:
        """Delete a schedule with the history of its ticks; its runs stay.

        Raises:
            ApiError: 404.
        """
        async with self.database.transaction() as unit:
            if not await schedule_records.remove(unit, caller.account_id, schedule_id):
                raise not_found("schedule")

    async def ticks(self, caller: Caller, schedule_id: UUID, page: Page) -> Listing[TickView]:
        """List what became of a schedule's planned times, newest first.

        Raises:
            ApiError: 404.
        """
        async with self.database.reading() as unit:
            if await schedule_records.get(unit, caller.account_id, schedule_id) is None:
                raise not_found("schedule")
            rows = await schedule_records.ticks(unit, schedule_id, page)
        return Listing[TickView](
            data=tuple(map(tick_view, rows.items)),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    def preview(self, body: SchedulePreview) -> ScheduleTimes:
        """Say when an expression would fire.

        Raises:
            ApiError: 400 naming the expression or the time zone.
        """
        clock = timetable(body.cron_expression, body.timezone)
        times = clock.next_times(body.after or self.clock(), body.take)
        return ScheduleTimes(next_runs=times, local=tuple(map(clock.local, times)))

    async def _change(self, unit: Unit, caller: Caller, found: ScheduleRecord, body: SchedulePatch) -> None:
        named = body.model_fields_set
        active = found.is_active if body.is_active is None else body.is_active
        switched = active != found.is_active
        values: dict[str, Any] = {"is_active": active}
        if body.name is not None:
            values["name"] = body.name
        if body.mode is not None:
            values["mode"] = _written(body.mode)
        if body.notifications is not None:
            # Inside it, too, only what is named changes.
            new = body.notifications
            kept = Notifications.model_validate(found.notifications)
            values["notifications"] = _written(
                kept.model_copy(update={name: getattr(new, name) for name in new.model_fields_set})
            )
        if "mode" in named or (switched and active):
            mode = body.mode or CaseMode.model_validate(found.mode)
            await self._playable(unit, caller, found.integration_id, mode)
        now = self.clock()
        following, moved = None, False
        # Switching off needs no clock: this machine may not know its time zone any more.
        if (switched and active) or not named.isdisjoint({"cron_expression", "timezone"}):
            zone = body.timezone or found.timezone
            clock = timetable(body.cron_expression or found.cron_expression, zone)
            values |= {"cron_expression": clock.cron.text, "timezone": zone}
            moved = (clock.cron.text, zone) != (found.cron_expression, found.timezone)
            following = clock.next_after(now) if active else None
        if switched or moved:
            values |= {"counted_from": now, "counted_local": None}
            values |= {"next_run_at": following, "waiting_for": None}
            reason = "the schedule was given another clock" if active else "the schedule was switched off"
            await schedule_records.pass_over(unit, found.id, reason)
        if any(getattr(found, name) != value for name, value in values.items()):
            await schedule_records.change(unit, found.id, values | {"updated_at": now})

    async def _playable(self, unit: Unit, caller: Caller, integration_id: UUID, mode: CaseMode) -> None:
        """Refuse what a run by hand would be refused now; nothing is started."""
        body = run_of(integration_id, mode)
        with in_mode(mode):
            self.drafter.check(body)
            results_of(await self.drafter.from_body(unit, caller, body))

    async def _locked(self, unit: Unit, caller: Caller, schedule_id: UUID) -> ScheduleRecord:
        found = await schedule_records.get(unit, caller.account_id, schedule_id, lock=True)
        if found is None:
            raise not_found("schedule")
        return found

    async def _view(self, unit: Unit, caller: Caller, schedule_id: UUID) -> ScheduleView:
        row = await schedule_records.seen(unit, caller.account_id, schedule_id)
        if row is None:
            raise not_found("schedule")
        return schedule_view(row, now=self.clock())


def _written(value: Any) -> dict[str, Any]:
    document: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return document
