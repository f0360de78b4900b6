"""Which runs are past their time, and marking them: from then on they are gone for everybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.orm import aliased

from proctor_store.session import Unit
from proctor_store.tables import CompareRun, Run, RunLook, Schedule

from . import runs
from .pipeline_rows import LIVE

__all__ = [
    "Cutoffs",
    "Overdue",
    "Place",
    "in_use",
    "mark",
    "newest_of",
    "notifications",
    "oldest",
    "overdue",
    "put_off",
    "remove_compare",
]

_ENDED = ("completed", "failed")
_CANCELLED = ("cancelled",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoffs:
    """Runs that ended before these moments are past their time; None keeps them for ever."""

    ended: datetime | None
    cancelled: datetime | None

    def by_status(self) -> Sequence[tuple[str, datetime]]:
        """The moment of each status that has one."""
        given = [(_ENDED, self.ended), (_CANCELLED, self.cancelled)]
        return [(status, moment) for names, moment in given if moment is not None for status in names]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a walk over the runs of one status stands."""

    completed_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Overdue:
    """A run past its time, and how often its export has failed."""

    id: UUID
    account_id: UUID
    schedule_id: UUID | None
    status: str
    completed_at: datetime
    export_failures: int

    @property
    def place(self) -> Place:
        """Where it stands in the walk."""
        return Place(self.completed_at, self.id)


async def overdue(
    unit: Unit, status: str, cutoffs: Cutoffs, *, now: datetime, after: Place | None, limit: int
) -> Sequence[Overdue]:
    """List runs of one status that are past their time, the oldest first.

    Left out are those whose export is to be tried later, and those of a comparison that has a run whose time
    is not over: the runs of a comparison go together. Those of `in_use` are not left out.
    """
    moment = dict(cutoffs.by_status())[status]
    query = (
        select(Run.id, Run.account_id, Run.schedule_id, Run.status, Run.completed_at, Run.export_failures)
        .where(
            Run.status == status,
            Run.completed_at < moment,
            Run.deleted_at.is_(None),
            or_(Run.export_after.is_(None), Run.export_after <= now),
            not_(_compared_still(cutoffs)),
        )
        .order_by(Run.completed_at, Run.id)
        .limit(limit)
    )
    if after is not None:
        query = query.where(
            Run.completed_at >= after.completed_at,
            or_(Run.completed_at > after.completed_at, Run.id > after.id),
        )
    return [Overdue(**row) for row in (await unit.connection.execute(query)).mappings()]


async def oldest(unit: Unit, cutoffs: Cutoffs, *, now: datetime) -> datetime:
    """Since when the run that should have gone first is past its time; `now` when there is none."""
    since = now
    for status, moment in cutoffs.by_status():
        query = select(func.min(Run.completed_at)).where(
            Run.status == status, Run.completed_at < moment, Run.deleted_at.is_(None)
        )
        ended = (await unit.connection.execute(query)).scalar_one()
        if ended is not None:
            since = min(since, ended + (now - moment))
    return since


async def in_use(unit: Unit) -> frozenset[UUID]:
    """List the runs that must stay: those that a live run plays again or confirms, and those that a look
    which is not settled still reads.
    """  # noqa: D205 - one sentence, two lines
    live: Any = bindparam("live", LIVE, expanding=True, literal_execute=True)
    again = select(Run.rerun_of, Run.confirms_run_id).where(
        Run.status.in_(live), or_(Run.rerun_of.is_not(None), Run.confirms_run_id.is_not(None))
    )
    # Written out, as the index over open looks needs it.
    looks = select(RunLook.run_id, RunLook.confirming_run_id, RunLook.baseline_run_ids).where(
        RunLook.state != literal_column("'settled'")
    )
    found = {one for row in await unit.connection.execute(again) for one in row}
    for run_id, confirming, baseline in await unit.connection.execute(looks):
        found |= {run_id, confirming, *map(UUID, baseline)}
    return frozenset(one for one in found if one is not None)


async def newest_of(unit: Unit, wanted: Mapping[UUID, int]) -> frozenset[UUID]:
    """List so many of the newest runs of each schedule: those that could tell whether it works."""
    found: set[UUID] = set()
    for schedule_id, count in wanted.items():
        query = (
            select(Run.id)
            .where(
                Run.schedule_id == schedule_id,
                Run.status.in_(_ENDED),
                Run.rerun_of.is_(None),
                Run.confirms_run_id.is_(None),
                Run.deleted_at.is_(None),
            )
            .order_by(Run.completed_at.desc(), Run.id.desc())
            .limit(count)
        )
        found.update((await unit.connection.execute(query)).scalars())
    return frozenset(found)


async def notifications(unit: Unit, schedule_ids: Iterable[UUID]) -> Mapping[UUID, Mapping[str, Any]]:
    """Read what those schedules that are active tell of their runs."""
    query = select(Schedule.id, Schedule.notifications).where(
        Schedule.id.in_(sorted(set(schedule_ids))), Schedule.is_active
    )
    return {row.id: row.notifications for row in await unit.connection.execute(query)}


async def mark(unit: Unit, run_id: UUID, cutoffs: Cutoffs, *, now: datetime) -> bool:
    """Say that a run past its time is gone; False when somebody holds it or uses it, or it has changed.

    A comparison without any run left goes with it.
    """
    mine = (
        select(Run.compare_run_id)
        .where(Run.id == run_id, Run.deleted_at.is_(None), _over(Run, cutoffs))
        .with_for_update(skip_locked=True)
    )
    held = (await unit.connection.execute(mine)).first()
    # Asked under the lock: whoever begins to use a run holds it first.
    if held is None or run_id in await in_use(unit):
        return False
    if await unit.connection.scalar(select(Run.id).where(Run.id == run_id, _compared_still(cutoffs))):
        return False
    await runs.hide(unit, run_id, now=now)
    await remove_compare(unit, held.compare_run_id)
    return True


async def remove_compare(unit: Unit, compare_id: UUID | None) -> bool:
    """Delete a comparison none of whose runs is left; whether it was."""
    if compare_id is None:
        return False
    left = exists().where(Run.compare_run_id == CompareRun.id, Run.deleted_at.is_(None))
    done = await unit.connection.execute(delete(CompareRun).where(CompareRun.id == compare_id, not_(left)))
    return done.rowcount == 1


async def put_off(unit: Unit, run_id: UUID, *, failures: int, until: datetime) -> None:
    """Keep a run whose export failed until it is tried again."""
    await unit.connection.execute(
        update(Run).where(Run.id == run_id).values(export_failures=failures, export_after=until)
    )


def _over(run: Any, cutoffs: Cutoffs) -> ColumnElement[bool]:
    """Whether the time of a run is over; never true of one that is live."""
    past = [and_(run.status == status, run.completed_at < moment) for status, moment in cutoffs.by_status()]
    return or_(*past) if past else literal_column("1 = 0")


def _compared_still(cutoffs: Cutoffs) -> ColumnElement[bool]:
    """Whether the run belongs to a comparison another run of which is live, or not past its time."""
    other = aliased(Run)
    return exists().where(
        other.compare_run_id == Run.compare_run_id,
        other.deleted_at.is_(None),
        or_(other.completed_at.is_(None), not_(_over(other, cutoffs))),
    )
