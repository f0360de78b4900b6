"""Schedules over REST."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field

from proctor_contracts.base import TYPED, SafeText, Strict, Wire
from proctor_contracts.enums import RunStatus
from proctor_contracts.schedules import (
    CaseMode,
    Notifications,
    ScheduleMode,
    TickStatus,
    Waiting,
)

from .common import Timestamp

__all__ = [
    "ScheduleCreate",
    "SchedulePatch",
    "SchedulePreview",
    "ScheduleTimes",
    "ScheduleView",
    "TickView",
]

ScheduleName = Annotated[SafeText, AfterValidator(str.strip), Field(min_length=1, max_length=128)]
Cron = Annotated[SafeText, Field(min_length=1, max_length=256)]
Zone = Annotated[SafeText, Field(min_length=1, max_length=64)]
_Calendar = Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(2200, 1, 1, tzinfo=UTC))


class ScheduleCreate(Strict):
    """Play an integration's cases on a clock: five cron fields, read in the time zone."""

    name: ScheduleName
    integration_id: UUID
    cron_expression: Cron
    timezone: Zone = "UTC"
    mode: ScheduleMode = CaseMode()
    is_active: bool = True
    notifications: Notifications = Notifications()


class SchedulePatch(Strict):
    """Named fields change; a changed clock counts from now."""

    name: ScheduleName | None = None
    cron_expression: Cron | None = None
    timezone: Zone | None = None
    mode: ScheduleMode | None = None
    is_active: bool | None = None
    notifications: Notifications | None = None


class SchedulePreview(Strict):
    """Ask when an expression would fire, without saving it."""

    cron_expression: Cron
    timezone: Zone = "UTC"
    after: Annotated[AwareDatetime, _Calendar] | None = None
    take: Annotated[int, Field(ge=1, le=20), TYPED] = 5


class ScheduleTimes(Wire):
    """The next fire times, in UTC and as the wall clock of the zone shows them."""

    next_runs: tuple[Timestamp, ...]
    local: tuple[str, ...]


class ScheduleView(Wire):
    """A schedule; `nextRuns` are its next three fire times, none while it is off.

    `nextRunsLocal` are the same as the clock of its time zone shows them.
    """

    id: UUID
    integration_id: UUID
    integration_name: str
    name: str
    cron_expression: str
    timezone: str
    mode: ScheduleMode
    is_active: bool
    notifications: Notifications
    waiting_for: Waiting | None = None
    last_run_at: Timestamp | None
    last_run_id: UUID | None
    last_run_status: RunStatus | None = None
    next_run_at: Timestamp | None
    next_runs: tuple[Timestamp, ...]
    next_runs_local: tuple[str, ...]
    created_at: Timestamp
    updated_at: Timestamp


class TickView(Wire):
    """One planned time and what became of it; `missed` counts the times before it that it stands for."""

    planned_at: Timestamp
    planned_local: str
    status: TickStatus
    fired_at: Timestamp | None
    run_id: UUID | None
    missed: int
    reason: str | None
