"""The first attempts that the history of a case is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, case, func, or_, select

from proctor_store.session import Unit
from proctor_store.tables import Run, TestCase, TestResult

__all__ = ["Conditions", "alike", "counts", "newest", "trials"]

_OVER = ("completed", "failed", "cancelled")
_GRADED = ("passed", "failed")
_CALM = "ok"
"""The weather in which nothing is made to go wrong."""

_CONDITIONS = (
    Run.id, Run.integration_id, Run.provider, Run.model, Run.prompt_version_id, Run.agent_prompt_snapshot
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must be the same for two runs to try the same agent."""

    integration_id: UUID
    provider: str
    model: str | None
    prompt: str


async def newest(unit: Unit, account_id: UUID, integration_id: UUID) -> RowMapping | None:
    """Read the conditions of the newest run that is over."""
    query = (
        select(*_CONDITIONS)
        .where(Run.account_id == account_id, Run.integration_id == integration_id, *_whole())
        .order_by(Run.id.desc())
        .limit(1)
    )
    return (await unit.connection.execute(query)).mappings().first()


async def alike(unit: Unit, account_id: UUID, wanted: Conditions, *, take: int) -> Sequence[UUID]:
    """List the last runs under these conditions, newest first.

    Reruns are left out: what they try was chosen by how it ended before.
    """
    model = Run.model.is_(None) if wanted.model is None else Run.model == wanted.model
    query = (
        select(Run.id)
        .where(
            Run.account_id == account_id,
            Run.integration_id == wanted.integration_id,
            Run.provider == wanted.provider,
            model,
            Run.agent_prompt_snapshot == wanted.prompt,
            *_whole(),
        )
        .order_by(Run.id.desc())
        .limit(take)
    )
    return (await unit.connection.execute(query)).scalars().all()


async def counts(unit: Unit, run_ids: Sequence[UUID], *, case_id: UUID | None = None) -> Sequence[RowMapping]:
    """Count the graded first attempts of each case and how many passed, with the case as it is now."""
    passed = func.sum(case((TestResult.first_status == "passed", 1), else_=0))
    query = (
        select(
            TestCase.id, TestCase.ref, TestCase.name, TestCase.category, TestCase.critical, TestCase.revision,
            func.count().label("trials"), passed.label("passed"),
        )
        .join(TestResult, TestResult.case_id == TestCase.id)
        .join(Run, Run.id == TestResult.run_id)
        .where(*_counted(run_ids))
        .group_by(TestCase.id)
    )  # fmt: skip
    if case_id is not None:
        query = query.where(TestCase.id == case_id)
    rows: Sequence[RowMapping] = (await unit.connection.execute(query)).mappings().all()
    return rows


async def trials(unit: Unit, run_ids: Sequence[UUID], case_ids: Sequence[UUID]) -> Sequence[RowMapping]:
    """Read the graded first attempts of some cases, oldest first."""
    query = (
        select(
            TestResult.case_id,
            TestResult.run_id,
            TestResult.trial,
            TestResult.first_status,
            func.coalesce(TestResult.completed_at, Run.created_at, type_=Run.created_at.type).label("at"),
        )
        .join(TestCase, TestCase.id == TestResult.case_id)
        .join(Run, Run.id == TestResult.run_id)
        .where(TestResult.case_id.in_(case_ids), *_counted(run_ids))
        .order_by(TestResult.run_id, TestResult.ordinal)
    )
    return (await unit.connection.execute(query)).mappings().all()


def _whole() -> tuple[ColumnElement[bool], ...]:
    return (Run.status.in_(_OVER), Run.rerun_of.is_(None), Run.deleted_at.is_(None))


def _counted(run_ids: Sequence[UUID]) -> tuple[ColumnElement[bool], ...]:
    """Graded first attempts in calm weather, in runs that took the case as it is now."""
    return (
        TestResult.run_id.in_(run_ids),
        Run.deleted_at.is_(None),
        TestResult.first_status.in_(_GRADED),
        or_(TestResult.weather.is_(None), TestResult.weather == _CALM),
        Run.created_at >= TestCase.updated_at,
    )
