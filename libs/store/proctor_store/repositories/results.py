"""Results as users read them, with what was said in their attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, func, or_, select

from proctor_store.paging import Page
from proctor_store.searching import exact, text_contains
from proctor_store.session import Unit
from proctor_store.tables import ResultPhase, RunCase, TestResult

__all__ = ["after", "listing", "phases"]

_COLUMNS = (
    *TestResult.__table__.columns,
    RunCase.ref,
    RunCase.name,
    RunCase.category,
    RunCase.priority,
    RunCase.weight,
    RunCase.critical,
    RunCase.tags,
    RunCase.snapshot,
)
_FULL_SCORE = 100
_SAME_CASE = (RunCase.run_id == TestResult.run_id) & (RunCase.case_id == TestResult.case_id)


async def listing(
    unit: Unit,
    run_id: UUID,
    *,
    status: str | None = None,
    category: str | None = None,
    flaky: bool | None = None,
    imperfect: bool | None = None,
    text: str | None = None,
    page: Page,
) -> tuple[Sequence[RowMapping], int]:
    """Read up to `take + 1` results in the run's order, and count all that match.

    An imperfect result has less than the full score, or none that is known.

    Ids grow with the order, so `cursor` continues behind a result.
    """
    wanted: list[ColumnElement[bool]] = [TestResult.run_id == run_id]
    if status is not None:
        wanted.append(TestResult.status == status)
    if category is not None:
        wanted.append(RunCase.category == exact(category))
    if flaky is not None:
        wanted.append(TestResult.flaky.is_(flaky))
    if imperfect is not None:
        short = or_(TestResult.score.is_(None), TestResult.score < _FULL_SCORE)
        wanted.append(short if imperfect else TestResult.score >= _FULL_SCORE)
    if text is not None:
        wanted.append(text_contains(RunCase.search_text, text))
    counted = select(func.count()).select_from(TestResult).join(RunCase, _SAME_CASE).where(*wanted)
    query = (
        select(*_COLUMNS)
        .join(RunCase, _SAME_CASE)
        .where(*wanted)
        .order_by(TestResult.ordinal)
        .offset(page.skip)
        .limit(page.take + 1)
    )
    if page.cursor is not None:
        query = query.where(TestResult.id > page.cursor)
    total = (await unit.connection.execute(counted)).scalar_one()
    return (await unit.connection.execute(query)).mappings().all(), total


async def after(unit: Unit, run_id: UUID, ordinal: int, *, take: int) -> Sequence[RowMapping]:
    """Read the results of a run behind an ordinal, in order, without counting them."""
    query = (
        select(*_COLUMNS)
        .join(RunCase, _SAME_CASE)
        .where(TestResult.run_id == run_id, TestResult.ordinal > ordinal)
        .order_by(TestResult.ordinal)
        .limit(take)
    )
    return (await unit.connection.execute(query)).mappings().all()


async def phases(
    unit: Unit, result_ids: Iterable[UUID]
) -> Mapping[UUID, dict[int, dict[str, dict[str, Any]]]]:
    """Read what workers reported of results: by result, attempt and phase."""
    found: dict[UUID, dict[int, dict[str, dict[str, Any]]]] = {}
    query = select(ResultPhase.result_id, ResultPhase.attempt, ResultPhase.phase, ResultPhase.payload).where(
        ResultPhase.result_id.in_(list(result_ids))
    )
    for result_id, attempt, phase, payload in await unit.connection.execute(query):
        found.setdefault(result_id, {}).setdefault(attempt, {})[phase] = payload
    return found
