"""What a schedule says, read: its clock, the run that it starts, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from proctor_api.errors import ApiError, bad_request, summed_up
from proctor_contracts.enums import RunStatus, Trigger
from proctor_contracts.schedules import CaseMode, Notifications, ScheduledRun, TickStatus, Waiting
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.runs import CaseFilter, RunCreate
from proctor_contracts.schemas.schedules import ScheduleView, TickView
from proctor_schedules.cron import Cron, read_cron
from proctor_schedules.faults import ScheduleFault
from proctor_schedules.times import local_text, next_after, next_times
from proctor_schedules.zones import read_zone

__all__ = ["Timetable", "in_mode", "run_of", "schedule_view", "tick_view", "timetable"]

_SHOWN = 3
_RUN = "mode.run"
_OWN_FIELDS = frozenset({"integrationId"})


@dataclass(frozen=True, slots=True)
class Timetable:
    """An expression in its time zone; every time is UTC."""

    cron: Cron
    zone: ZoneInfo

    def next_after(self, moment: datetime) -> datetime | None:
        """The first fire time later than a moment; None when there is none in our calendar."""
        return next_after(self.cron, self.zone, moment)

    def next_times(self, moment: datetime, count: int) -> tuple[datetime, ...]:
        """The next fire times later than a moment."""
        return next_times(self.cron, self.zone, moment, count)

    def local(self, moment: datetime) -> str:
        """What the zone's clock shows then, with its offset."""
        return local_text(moment, self.zone)


def timetable(cron_expression: str, timezone: str) -> Timetable:
    """Read when something is to happen.

    Raises:
        ApiError: 400 naming what cannot be read of expression and time zone.
    """
    problems: list[FieldProblem] = []
    cron, zone = None, None
    try:
        cron = read_cron(cron_expression)
    except ScheduleFault as fault:
        problems.append(_problem(fault))
    try:
        zone = read_zone(timezone)
    except ScheduleFault as fault:
        problems.append(_problem(fault))
    if cron is None or zone is None:
        raise bad_request(problems, code=problems[0].code or "invalid")
    return Timetable(cron, zone)


def run_of(integration_id: UUID, mode: CaseMode) -> RunCreate:
    """Write down a schedule's run as one by hand would be; without a choice it takes all active cases."""
    asked = {name: getattr(mode.run, name) for name in ScheduledRun.model_fields}
    if not mode.run.case_ids and mode.run.case_filter is None:
        asked["case_filter"] = CaseFilter()
    return RunCreate(integration_id=integration_id, trigger=Trigger.SCHEDULED, **asked)


@contextmanager
def in_mode(mode: CaseMode) -> Iterator[None]:
    """Name the schedule's fields in what is refused of its run inside the block."""
    try:
        yield
    except ApiError as error:
        if error.code == "no_cases" and mode.run.case_filter is None:
            message = "the integration has no active cases, so nothing would be tested; add or activate one"
            problem = FieldProblem(path="integrationId", message=message, code="no_active_cases")
            raise bad_request([problem], code="no_active_cases") from error
        problems = [_of_run(problem) for problem in error.errors]
        detail = summed_up(problems) if error.detail == summed_up(error.errors) else error.detail
        raise ApiError(error.status, error.code, detail, problems, error.retry_after) from error


def schedule_view(row: Mapping[Any, Any], *, now: datetime) -> ScheduleView:
    """Show a schedule as it was read with its integration and its last run."""
    clock = _known(row) if row["is_active"] else None
    following = () if clock is None else clock.next_times(now, _SHOWN)
    status, waiting = row["last_run_status"], row["waiting_for"]
    return ScheduleView(
        id=row["id"],
        integration_id=row["integration_id"],
        integration_name=row["integration_name"],
        name=row["name"],
        cron_expression=row["cron_expression"],
        timezone=row["timezone"],
        mode=CaseMode.model_validate(row["mode"]),
        is_active=row["is_active"],
        notifications=Notifications.model_validate(row["notifications"]),
        waiting_for=None if waiting is None else Waiting(waiting),
        last_run_at=row["last_run_at"],
        last_run_id=row["last_run_id"],
        last_run_status=None if status is None else RunStatus(status),
        next_run_at=row["next_run_at"],
        next_runs=following,
        next_runs_local=() if clock is None else tuple(map(clock.local, following)),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def tick_view(row: Mapping[Any, Any]) -> TickView:
    """Show what became of a planned time."""
    return TickView(
        planned_at=row["planned_at"],
        planned_local=row["planned_local"],
        status=TickStatus(row["status"]),
        fired_at=row["fired_at"],
        run_id=row["run_id"],
        missed=row["missed"],
        reason=row["reason"],
    )


def _known(row: Mapping[Any, Any]) -> Timetable | None:
    """Read a stored clock; None when this machine no longer knows its time zone."""
    try:
        return timetable(row["cron_expression"], row["timezone"])
    except ApiError:
        return None


def _problem(fault: ScheduleFault) -> FieldProblem:
    return FieldProblem(path=fault.field, message=str(fault), code=fault.code)


def _of_run(problem: FieldProblem) -> FieldProblem:
    if problem.path in _OWN_FIELDS:
        return problem
    return problem.model_copy(update={"path": f"{_RUN}.{problem.path}"})
