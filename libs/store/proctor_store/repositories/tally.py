"""The rows that summaries, gates and comparisons are made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, select
from sqlalchemy.orm import InstrumentedAttribute

from proctor_store.session import Unit
from proctor_store.tables import RunCase, TestResult

__all__ = ["pages", "read"]

PAGE = 500
"""Rows held at once: a run of ten thousand must not end with ten thousand of them in memory."""


_COLUMNS = (
    TestResult.case_id,
    TestResult.trial,
    TestResult.status,
    TestResult.first_status,
    TestResult.score,
    TestResult.flaky,
    TestResult.latencies,
    TestResult.usage,
    TestResult.judge_usage,
    TestResult.cost_micro,
    TestResult.needs_review,
    TestResult.error,
    RunCase.ref,
    RunCase.name,
    RunCase.category,
    RunCase.priority,
    RunCase.weight,
    RunCase.tags,
    RunCase.critical,
)


def pages(unit: Unit, run_id: UUID) -> AsyncIterator[Sequence[RowMapping]]:
    """Read every result of a run, some at a time and in order, without what was said in it."""
    return read(unit, run_id, _COLUMNS)


async def read(
    unit: Unit, run_id: UUID, columns: Sequence[InstrumentedAttribute[Any]]
) -> AsyncIterator[Sequence[RowMapping]]:
    """Read some columns of every result of a run and of its cases, some rows at a time and in order."""
    query = (
        select(TestResult.ordinal, *columns)
        .join(RunCase, (RunCase.run_id == TestResult.run_id) & (RunCase.case_id == TestResult.case_id))
        .where(TestResult.run_id == run_id)
        .order_by(TestResult.ordinal)
        .limit(PAGE)
    )
    last = -1
    while True:
        page = (await unit.connection.execute(query.where(TestResult.ordinal > last))).mappings().all()
        if page:
            yield page
        if len(page) < PAGE:
            return
        last = page[-1]["ordinal"]
