"""Results of a run: pages, the whole run as one document, and two runs side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import not_found
from proctor_api.pipeline.steps import Plan
from proctor_api.pipeline.tally import result_rows
from proctor_contracts.diff import RunDiff
from proctor_contracts.enums import ResultStatus, RunStatus
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import Meta
from proctor_contracts.schemas.runs import ResultsData, ResultsPage, ResultView, RunDocument
from proctor_contracts.summary import RunSummary
from proctor_grading.diff import diff
from proctor_store.paging import MAX_TAKE, Page, write_cursor
from proctor_store.repositories import results, runs, tally
from proctor_store.session import Database, Unit

from .result_view import result_view
from .run_view import run_view

__all__ = ["Results"]


class Results:
    """Reads what runs came to."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def page(
        self,
        caller: Caller,
        run_id: UUID,
        *,
        page: Page,
        status: ResultStatus | None = None,
        category: str | None = None,
        flaky: bool | None = None,
        imperfect: bool | None = None,
        q: str | None = None,
        include_attempts: bool = False,
    ) -> ResultsPage:
        """Read a page of results in the run's order.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            run = await self._run(unit, caller, run_id)
            rows, total = await results.listing(
                unit,
                run_id,
                status=None if status is None else status.value,
                category=category,
                flaky=flaky,
                imperfect=imperfect,
                text=q,
                page=page,
            )
            shown = rows[: page.take]
            views = await self._views(unit, run, shown, include_attempts=include_attempts)
        summary = run["summary"]
        return ResultsPage(
            data=ResultsData(
                id=run_id,
                status=RunStatus(run["status"]),
                summary=None if summary is None else RunSummary.model_validate(summary),
                results=views,
            ),
            meta=Meta(
                total=total,
                take=page.take,
                skip=page.skip,
                next_cursor=write_cursor(shown[-1]["id"]) if len(rows) > page.take else None,
            ),
        )

    async def document(self, caller: Caller, run_id: UUID) -> RunDocument:
        """Read the whole run, every attempt included.

        Raises:
            ApiError: 404.
        """
        found: list[ResultView] = []
        last = -1
        async with self._database.reading() as unit:
            run = await self._run(unit, caller, run_id)
            while rows := await results.after(unit, run_id, last, take=MAX_TAKE):
                found.extend(await self._views(unit, run, rows, include_attempts=True))
                last = rows[-1]["ordinal"]
            case_ids = await runs.case_ids(unit, run_id)
        return RunDocument(run=run_view(run, now=self._clock(), case_ids=case_ids), results=tuple(found))

    async def pages(
        self, caller: Caller, run_id: UUID, *, take: int
    ) -> AsyncIterator[tuple[ResultView, ...]]:
        """Read every result with its attempts, some at a time, each time in a transaction of its own.

        Raises:
            ApiError: 404, also when the run is deleted meanwhile.
        """
        last = -1
        while True:
            async with self._database.reading() as unit:
                run = await self._run(unit, caller, run_id)
                rows = await results.after(unit, run_id, last, take=take)
                views = await self._views(unit, run, rows, include_attempts=True)
            if not rows:
                return
            yield views
            last = rows[-1]["ordinal"]

    async def diff(self, caller: Caller, run_id: UUID, other_id: UUID) -> RunDiff:
        """Compare a run with a later one, case by case and by a paired test.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            await self._run(unit, caller, run_id)
            await self._run(unit, caller, other_id)
            before = [row async for page in tally.pages(unit, run_id) for row in result_rows(page)]
            after = [row async for page in tally.pages(unit, other_id) for row in result_rows(page)]
        return diff(run_id, other_id, before, after)

    async def _run(self, unit: Unit, caller: Caller, run_id: UUID) -> Mapping[Any, Any]:
        row = await runs.find(unit, caller.account_id, run_id)
        if row is None:
            raise not_found("run")
        return row

    async def _views(
        self, unit: Unit, run: Mapping[Any, Any], rows: Sequence[Mapping[Any, Any]], *, include_attempts: bool
    ) -> tuple[ResultView, ...]:
        settings = RunSettings.model_validate(run["settings"])
        plan = Plan(settings.retries_on_failure, settings.judge, settings.judge_policy)
        found = await results.phases(unit, [row["id"] for row in rows])
        return tuple(
            result_view(row, found.get(row["id"], {}), plan, include_attempts=include_attempts)
            for row in rows
        )
