"""What is to be written about one schedule that has something to do: pure, from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from proctor_contracts.schedules import TickStatus, Waiting
from proctor_schedules.cron import read_cron
from proctor_schedules.deciding import (
    Ask,
    Count,
    Fire,
    Miss,
    Move,
    Situation,
    Tick,
    Wait,
    ask_again,
    decide,
    hindrance,
)
from proctor_schedules.faults import ScheduleFault
from proctor_schedules.zones import read_zone
from proctor_store.repositories.schedules import DueSchedule, OpenTick

__all__ = ["LOOK_AGAIN", "REASONS", "Plan", "count_of", "plan"]

LOOK_AGAIN = timedelta(minutes=5)
"""When a schedule is looked at again whose clock cannot be read here."""

REASONS = {
    Waiting.PREVIOUS_RUN: "previous_run: the run before is not over",
    Waiting.QUOTA: "quota: the account may start no more runs this minute",
    Waiting.BALANCE: "balance: the account's balance is used up; top it up to start runs",
}
PASSED_OVER = "passed_over: the planned time before still waited"
NOT_STARTED = (
    "not_started: the run was asked for during a day and did not start; "
    "look at the API's log and at its queue proctor.api.schedules"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to write of a schedule.

    `new` is a planned time that has come, with what becomes of it. Of the ticks that were there, `released`
    waits no longer, `held` waits for something else now, `again` are asked for once more, and `refused` are
    given up. `columns` are the schedule's own.
    """

    new: tuple[Tick, TickStatus, str | None] | None = None
    released: OpenTick | None = None
    held: tuple[OpenTick, Waiting] | None = None
    again: tuple[OpenTick, ...] = ()
    refused: tuple[OpenTick, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)
    fault: ScheduleFault | None = None

    @property
    def asks(self) -> int:
        """How many runs it asks for that were not asked for before."""
        return (self.released is not None) + (self.new is not None and self.new[1] is TickStatus.FIRED)


def count_of(schedule: DueSchedule) -> Count:
    """Read where a schedule stands.

    Raises:
        ScheduleFault: when its expression or its time zone cannot be read here.
    """
    return Count(
        cron=read_cron(schedule.cron_expression),
        zone=read_zone(schedule.timezone),
        since=schedule.counted_from,
        local=schedule.counted_local,
    )


def plan(
    schedule: DueSchedule,
    ticks: Sequence[OpenTick],
    *,
    running_since: datetime | None,
    spent: bool,
    room: int | None,
    now: datetime,
) -> Plan:
    """Decide on all that a schedule needs; `ticks` are those that are not over, `room` is the account's."""
    answers = {tick: _answer(tick, now) for tick in ticks if tick.status == TickStatus.FIRED}
    again = tuple(tick for tick, answer in answers.items() if answer is Ask.AGAIN)
    refused = tuple(tick for tick, answer in answers.items() if answer is Ask.GIVE_UP)
    waiting = next((tick for tick in ticks if tick.status == TickStatus.WAITING), None)
    situation = Situation(
        running_since=running_since, asked=len(answers) > len(refused), spent=spent, room=room
    )
    hindered = hindrance(situation, now=now)
    made = Plan(again=again, refused=refused)
    if schedule.is_active and schedule.next_run_at is not None and schedule.next_run_at <= now:
        made = _due(made, schedule, waits=waiting is not None, hindered=hindered, now=now)
    waits = waiting is not None or (made.new is not None and made.new[1] is TickStatus.WAITING)
    reason = hindered if waits else None
    if waiting is not None and hindered is None and schedule.is_active:
        made = replace(made, released=waiting)
    if reason != schedule.waiting_for:
        made = replace(made, columns=made.columns | {"waiting_for": reason and reason.value})
        if waiting is not None and reason is not None:
            made = replace(made, held=(waiting, reason))
    return made


def _answer(tick: OpenTick, now: datetime) -> Ask:
    fired = tick.fired_at or tick.planned_at
    return ask_again(fired_at=fired, asked_at=tick.asked_at or fired, now=now)


def _due(made: Plan, schedule: DueSchedule, *, waits: bool, hindered: Waiting | None, now: datetime) -> Plan:
    try:
        decision = decide(count_of(schedule), now=now, waits=waits, hindered=hindered)
    except ScheduleFault as fault:
        return replace(made, fault=fault, columns={"next_run_at": now + LOOK_AGAIN})
    new: tuple[Tick, TickStatus, str | None]
    match decision:
        case Move(next_run_at=coming):
            return replace(made, columns={"next_run_at": coming})
        case Fire(tick=tick):
            new = (tick, TickStatus.FIRED, None)
        case Wait(tick=tick, reason=reason):
            new = (tick, TickStatus.WAITING, REASONS[reason])
        case Miss(tick=tick):
            new = (tick, TickStatus.MISSED, PASSED_OVER)
        case _:
            assert_never(decision)
    columns = {
        "counted_from": tick.planned_at,
        "counted_local": tick.planned_local,
        "next_run_at": tick.next_run_at,
    }
    return replace(made, new=new, columns=columns)
