"""Looks at completed runs, and the runs that they compare."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, and_, or_, select, update

from proctor_store.conflicts import conflicts
from proctor_store.inserting import insert_for
from proctor_store.padding import padded
from proctor_store.session import Unit
from proctor_store.tables import Integration, Run, RunCase, RunLook, Schedule, TestResult

from . import tally

__all__ = [
    "ASKED",
    "REFUSED",
    "SETTLED",
    "LookRecord",
    "Played",
    "RunFacts",
    "change",
    "create",
    "earlier",
    "facts",
    "get",
    "later",
    "lock_integration",
    "notified",
    "of_schedule",
    "overdue",
    "pages",
    "played",
]

SETTLED, ASKED, REFUSED = "settled", "asked", "refused"
"""Where a look stands: nothing is open, a rerun was asked for, the rerun cannot be had."""

RUNS = 25
"""Runs read at once; each carries the settings it was started with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A run that is over or about to be: what it is compared by; `runner` and `weather` are its settings'."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    status: str
    mode: str
    prompt_overridden: bool
    compare_run_id: UUID | None
    rerun_of: UUID | None
    confirms_run_id: UUID | None
    completed_at: datetime
    runner: str
    weather: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether it tried the bot as it is, with its cases as they are chosen: may be compared over time."""
        return (
            self.status == "completed"
            and self.mode == "case"
            and not self.prompt_overridden
            and self.compare_run_id is None
            and self.rerun_of is None
            and self.confirms_run_id is None
        )

    def like(self, other: Played) -> bool:
        """Whether both were played by the same loop in the same weather."""
        return self.runner == other.runner and self.weather == other.weather


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts(Played):
    """What a look knows of a run; `alerts` is the integration's own.

    `summary` and `gate_decision` are read of the run itself only, not of those it is compared with.
    """

    integration_name: str
    alerts: Mapping[str, Any] | None
    trigger: str
    schedule_id: UUID | None
    agent_models: Sequence[str]
    judge_models: Sequence[str]
    agent_fingerprints: Sequence[str] | None
    judge_fingerprints: Sequence[str] | None
    summary: Mapping[str, Any] | None = None
    gate_decision: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRecord:
    """The look at one run; `findings` and the other documents are as the alerter wrote them."""

    run_id: UUID
    account_id: UUID
    integration_id: UUID
    state: str
    findings: dict[str, Any]
    baseline_run_ids: list[str]
    model_changes: list[dict[str, Any]]
    confirm: list[str]
    confirming_run_id: UUID | None
    reason: str | None
    created_at: datetime
    updated_at: datetime


_RUN = (
    Run.id, Run.account_id, Run.integration_id, Run.status, Run.mode, Run.trigger, Run.prompt_overridden,
    Run.compare_run_id, Run.rerun_of, Run.confirms_run_id, Run.schedule_id, Run.completed_at,
    Run.agent_models, Run.judge_models, Run.agent_fingerprints, Run.judge_fingerprints, Run.settings,
    Integration.name.label("integration_name"), Integration.alerts,
)  # fmt: skip
_SCORES = (TestResult.run_id, TestResult.case_id, TestResult.history, RunCase.category)
_NAMES = tuple(one.name for one in fields(LookRecord))
_LOOK = tuple(RunLook.__table__.c[name] for name in _NAMES)


async def facts(unit: Unit, run_id: UUID) -> RunFacts | None:
    """Read a run that is over; None when it is not, or is gone."""
    query = _runs().add_columns(Run.summary, Run.gate_decision)
    query = query.where(Run.id == run_id, Run.completed_at.is_not(None))
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else _facts(found)


async def lock_integration(unit: Unit, integration_id: UUID) -> None:
    """Let no other look at this integration's runs go on meanwhile; runs may be started (PostgreSQL)."""
    query = select(Integration.id).where(Integration.id == integration_id).with_for_update(key_share=True)
    await unit.connection.execute(query)


async def earlier(unit: Unit, run: Played, *, take: int, scan: int) -> Sequence[RunFacts]:
    """List the comparable runs of the integration that completed before this one, newest first.

    At most `scan` runs are looked through for as many as `take`.
    """
    before = or_(
        Run.completed_at < run.completed_at, and_(Run.completed_at == run.completed_at, Run.id < run.id)
    )
    query = _comparable(run, before).order_by(Run.completed_at.desc(), Run.id.desc())
    return await _alike(unit, run, query, take=take, scan=scan)


async def later(unit: Unit, run: RunFacts, *, take: int, scan: int) -> Sequence[UUID]:
    """List comparable runs of the integration that completed after this one, newest first."""
    after = or_(
        Run.completed_at > run.completed_at, and_(Run.completed_at == run.completed_at, Run.id > run.id)
    )
    query = _comparable(run, after).order_by(Run.completed_at.desc(), Run.id.desc())
    return [one.id for one in await _alike(unit, run, query, take=take, scan=scan)]


async def played(unit: Unit, run_ids: Collection[UUID], categories: Collection[str]) -> frozenset[str]:
    """Say which of some categories were played in any of some runs."""
    query = (
        select(RunCase.category)
        .where(RunCase.run_id.in_(padded(list(run_ids))), RunCase.category.in_(list(categories)))
        .distinct()
    )
    return frozenset((await unit.connection.execute(query)).scalars())


async def pages(unit: Unit, run_ids: Iterable[UUID]) -> AsyncIterator[Sequence[RowMapping]]:
    """Read the results of some runs, some at a time: run, case, the category it had there, its attempts."""
    for run_id in run_ids:
        async for page in tally.read(unit, run_id, _SCORES):
            yield page


async def of_schedule(unit: Unit, run: RunFacts, *, take: int) -> Sequence[tuple[str, str | None]]:
    """List status and gate outcome of a schedule's runs up to this one, oldest first.

    Cancelled runs are left out, and so are reruns of what the schedule started.
    """
    query = (
        select(Run.status, Run.gate_decision)
        .where(
            Run.account_id == run.account_id,
            Run.schedule_id == run.schedule_id,
            Run.status.in_(["completed", "failed"]),
            Run.deleted_at.is_(None),
            Run.rerun_of.is_(None),
            Run.confirms_run_id.is_(None),
            or_(
                Run.completed_at < run.completed_at,
                and_(Run.completed_at == run.completed_at, Run.id <= run.id),
            ),
        )
        .order_by(Run.completed_at.desc(), Run.id.desc())
        .limit(take)
    )
    rows = (await unit.connection.execute(query)).all()
    return [(status, None if gate is None else gate["outcome"]) for status, gate in reversed(rows)]


async def notified(unit: Unit, run: RunFacts) -> tuple[str, Mapping[str, Any]] | None:
    """Read the name and notifications of the schedule that started a run; None when it is gone."""
    query = select(Schedule.name, Schedule.notifications).where(
        Schedule.id == run.schedule_id, Schedule.account_id == run.account_id
    )
    found = (await unit.connection.execute(query)).first()
    return None if found is None else (found.name, found.notifications)


async def create(unit: Unit, look: LookRecord) -> bool:
    """Keep a look; False when the run has been looked at, and nothing is written.

    Raises:
        Vanished: when the run is gone.
    """
    with conflicts({}):
        done = await unit.connection.execute(
            insert_for(unit.dialect, RunLook)
            .values({RunLook.__table__.c[name]: getattr(look, name) for name in _NAMES})
            .on_conflict_do_nothing(index_elements=["run_id"])
        )
    return done.rowcount == 1


async def get(unit: Unit, run_id: UUID, *, lock: bool = False) -> LookRecord | None:
    """Read the look at a run; with `lock`, whoever else settles it waits (PostgreSQL)."""
    query = select(*_LOOK).where(RunLook.run_id == run_id)
    if lock:
        query = query.with_for_update()
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else LookRecord(**found)


async def change(unit: Unit, run_id: UUID, values: Mapping[str, Any], *, now: datetime) -> None:
    """Set some columns of a look."""
    await unit.connection.execute(
        update(RunLook).where(RunLook.run_id == run_id).values(**values, updated_at=now)
    )


async def overdue(unit: Unit, *, asked_before: datetime, take: int) -> Sequence[UUID]:
    """List the runs whose looks were refused a rerun, or have waited for one since before this moment."""
    query = (
        select(RunLook.run_id)
        .where(
            RunLook.state != SETTLED,
            or_(RunLook.state == REFUSED, and_(RunLook.state == ASKED, RunLook.created_at < asked_before)),
        )
        .order_by(RunLook.updated_at)
        .limit(take)
    )
    return (await unit.connection.execute(query)).scalars().all()


def _runs() -> Any:
    return (
        select(*_RUN).join(Integration, Integration.id == Run.integration_id).where(Run.deleted_at.is_(None))
    )


def _comparable(run: Played, when: ColumnElement[bool]) -> Any:
    """The SQL half of `Played.comparable`."""
    return _runs().where(
        Run.account_id == run.account_id,
        Run.integration_id == run.integration_id,
        Run.status == "completed",
        Run.mode == "case",
        Run.prompt_overridden.is_(False),
        Run.compare_run_id.is_(None),
        Run.rerun_of.is_(None),
        Run.confirms_run_id.is_(None),
        when,
    )


async def _alike(unit: Unit, run: Played, query: Any, *, take: int, scan: int) -> Sequence[RunFacts]:
    """Keep those played alike, which stands in settings that no database looks into."""
    found: list[RunFacts] = []
    for offset in range(0, scan, RUNS):
        rows = (await unit.connection.execute(query.offset(offset).limit(RUNS))).mappings().all()
        found += [other for other in map(_facts, rows) if other.like(run)]
        if len(found) >= take or len(rows) < RUNS:
            break
    return found[:take]


def _facts(row: RowMapping) -> RunFacts:
    values = dict(row)
    settings = values.pop("settings")
    return RunFacts(
        **values, runner=settings.get("runner", "scripted"), weather=tuple(settings.get("weather", ()))
    )
