"""What becomes of a schedule whose time has come: pure, on what the database says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from proctor_contracts.schedules import Waiting

from .cron import Cron
from .times import fires, local_text

__all__ = [
    "ASK_AGAIN",
    "GIVE_UP",
    "LONGEST_WAIT",
    "MOST_COUNTED",
    "Ask",
    "Count",
    "Decision",
    "Fire",
    "Miss",
    "Move",
    "Situation",
    "Tick",
    "Wait",
    "ask_again",
    "decide",
    "hindrance",
    "recount",
]

MOST_COUNTED = 1_000
"""Missed times are counted up to this one."""

LONGEST_WAIT = timedelta(days=1)
"""How long a run that does not end holds up its schedule."""

ASK_AGAIN = timedelta(minutes=15)
"""How long a run that was asked for may not be there before it is asked for again."""

GIVE_UP = timedelta(days=1)
"""How long it is asked for."""

CLOCK_SLACK = timedelta(minutes=5)
"""How far the clock may be set back without anything being counted anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Where a schedule stands: its next time is the first one after `since`.

    `local` is what the zone's clock showed for the planned time that `since` is, as `local_text` writes it;
    None when counting began at another moment, such as an edit.
    """

    cron: Cron
    zone: ZoneInfo
    since: datetime
    local: str | None = None

    def times(self) -> Iterator[datetime]:
        """The planned times from here on, by today's rules of the zone.

        A time on the wall is played once, even when the zone's rules were changed behind it.
        """
        for instant in fires(self.cron, self.zone, self.since):
            if self.local is None or self.cron.wildcard or self._wall(instant) > _shown(self.local):
                yield instant

    def _wall(self, instant: datetime) -> datetime:
        return instant.astimezone(self.zone).replace(tzinfo=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A planned time whose moment has come, and where to count from then on.

    `missed` is the number of planned times between the last tick and this one, at most `MOST_COUNTED`.
    """

    planned_at: datetime
    planned_local: str
    missed: int
    next_run_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """By today's rules of the time zone, the moment has not come yet."""

    next_run_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """Ask for a run."""

    tick: Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Keep the tick until nothing is in its way."""

    tick: Tick
    reason: Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """Pass it over, since the tick before still waits."""

    tick: Tick


Decision = Move | Fire | Wait | Miss


def decide(count: Count, *, now: datetime, waits: bool, hindered: Waiting | None) -> Decision:
    """Decide on a schedule that is due; `waits` says that an earlier tick of it still does.

    However many planned times have passed, at most one run comes of them: the latest stands for all.
    """
    passed, latest, coming = 0, None, None
    for instant in count.times():
        if instant > now:
            coming = instant
            break
        passed, latest = passed + 1, instant
        if passed > MOST_COUNTED:
            latest = _latest(count, now)
            coming = next(fires(count.cron, count.zone, now), None)
            break
    if latest is None:
        return Move(next_run_at=coming)
    tick = Tick(
        planned_at=latest,
        planned_local=local_text(latest, count.zone),
        missed=passed - 1,
        next_run_at=coming,
    )
    if waits:
        return Miss(tick=tick)
    return Fire(tick=tick) if hindered is None else Wait(tick=tick, reason=hindered)


def recount(count: Count, *, now: datetime) -> tuple[Count, datetime | None]:
    """Count anew where to count from, and the next time: zones change their rules, and clocks are set right.

    Both are as they were when nothing of the kind has happened.
    """
    if count.since > now + CLOCK_SLACK:
        # The clock was ahead when this was counted: what it skipped is still to come.
        count = Count(cron=count.cron, zone=count.zone, since=now)
    return count, next(count.times(), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What may be in a tick's way.

    `running_since` is when the newest run of its schedule that is not over was started, `asked` whether a run
    was asked for that is not there yet, `room` how many runs the account may still start this minute, None
    without a quota.
    """

    running_since: datetime | None
    asked: bool
    spent: bool
    room: int | None


def hindrance(situation: Situation, *, now: datetime) -> Waiting | None:
    """Say why a run may not be asked for now, or None when it may."""
    running = situation.running_since
    if situation.asked or (running is not None and now - running < LONGEST_WAIT):
        return Waiting.PREVIOUS_RUN
    if situation.spent:
        return Waiting.BALANCE
    if situation.room is not None and situation.room <= 0:
        return Waiting.QUOTA
    return None


class Ask(StrEnum):
    """What to do about a run that was asked for and is not there."""

    WAIT = "wait"
    AGAIN = "again"
    GIVE_UP = "give_up"


def ask_again(*, fired_at: datetime, asked_at: datetime, now: datetime) -> Ask:
    """Tell an answer that takes its time from one that will not come; asking twice starts one run."""
    if now - fired_at >= GIVE_UP:
        return Ask.GIVE_UP
    return Ask.AGAIN if now - asked_at >= ASK_AGAIN else Ask.WAIT


def _latest(count: Count, now: datetime) -> datetime | None:
    """The last planned time up to now, without going through all of them."""
    back = timedelta(days=1)
    while True:
        found = None
        for instant in fires(count.cron, count.zone, max(now - back, count.since)):
            if instant > now:
                break
            found = instant
        if found is not None or now - back <= count.since:
            return found
        back *= 4


def _shown(local: str) -> datetime:
    return datetime.fromisoformat(local).replace(tzinfo=None)
