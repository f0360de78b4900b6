"""Comparisons that go on until they are decided: after each round of runs, the next one or the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.pipeline.tally import result_rows
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import RunStatus, Trigger
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.compare import CompareStatus
from proctor_contracts.schemas.compare_until import CellStanding, UntilDecided
from proctor_contracts.verdicts import ComparisonVerdict
from proctor_grading.rounds import Standing, portion, standings
from proctor_grading.rows import ResultRow
from proctor_grading.sequential import Plan
from proctor_store.repositories import cases, compares, pipeline, tally
from proctor_store.repositories.compares import CompareRecord
from proctor_store.session import Database, Unit

from .run_plan import case_snapshot
from .run_view import MICRO_PER_CENT
from .run_writing import Draft, RunWriter

__all__ = [
    "CompareRounds",
    "by_cell",
    "cell_standings",
    "first_portion",
    "results_of",
    "standings_of",
    "until_of",
]

_MOST_EVIDENCE = 1e12
"""Odds beyond which a number says no more, and JSON knows no infinity."""

_log = logging.getLogger(__name__)

Run = Mapping[Any, Any]
Rows = Sequence[ResultRow]


def until_of(record: CompareRecord) -> UntilDecided | None:
    """When the comparison is to stop; None for one of a fixed size."""
    written = record.settings.get("untilDecided")
    return None if written is None else UntilDecided.model_validate(written)


def first_portion(compare_id: UUID, case_ids: Sequence[UUID], until: UntilDecided) -> list[UUID]:
    """Choose the cases that a comparison begins with."""
    return portion(str(compare_id), case_ids, tried=0, limit=until.max_trials)


def by_cell(record: CompareRecord, runs: Sequence[Run]) -> list[list[Run]]:
    """Sort a comparison's runs by their cells, in the order they were made."""
    places = {
        (cell["promptVersionId"], cell["provider"], cell["model"]): place
        for place, cell in enumerate(record.matrix)
    }
    found: list[list[Run]] = [[] for _ in record.matrix]
    for run in sorted(runs, key=lambda run: run["id"]):
        place = places.get((str(run["prompt_version_id"]), run["provider"], run["model"]))
        if place is not None:
            found[place].append(run)
    return found


async def results_of(unit: Unit, runs: Sequence[Run]) -> list[Rows]:
    """Read the results of each of some runs."""
    return [[row async for page in tally.pages(unit, run["id"]) for row in result_rows(page)] for run in runs]


def standings_of(
    record: CompareRecord, cells: Sequence[Sequence[Rows]], until: UntilDecided
) -> dict[int, Standing]:
    """Look at every cell against the baseline, each given by the results of its runs that are over."""
    plan = Plan(max_pairs=until.max_trials, alpha=until.alpha, min_detectable=until.min_detectable)
    others = {place: rows for place, rows in enumerate(cells) if place != record.baseline}
    return standings(plan, cells[record.baseline], others)


def cell_standings(
    found: Mapping[int, Standing], *, over: bool, until: UntilDecided
) -> tuple[CellStanding, ...]:
    """Describe where the cells stand; what is open when all is over is undecided."""
    return tuple(_described(cell, standing, over=over, until=until) for cell, standing in found.items())


@dataclass(frozen=True, slots=True)
class CompareRounds:
    """Goes on with comparisons when their runs complete.

    The account's lock lets one replica at a time look, and runs that are live again tell the next one that
    the round it has heard of is over already.
    """

    database: Database
    clock: Callable[[], datetime]
    writer: RunWriter

    async def advance(self, account_id: UUID, compare_id: UUID) -> int:
        """Start the next round if the last one is over, or end the comparison; returns the runs started."""
        async with self.database.transaction() as unit:
            account = (await pipeline.lock_accounts(unit, [account_id])).get(account_id)
            record = await compares.get(unit, account_id, compare_id)
            if account is None or record is None or record.status != CompareStatus.RUNNING.value:
                return 0
            until = until_of(record)
            runs = (await compares.runs_of(unit, [compare_id]))[compare_id]
            if until is None or any(not RunStatus(run["status"]).final for run in runs):
                return 0
            cells = by_cell(record, runs)
            found = standings_of(record, [await results_of(unit, runs) for runs in cells], until)
            broke = account.balance_micro is not None and account.balance_micro <= 0
            drafts = [] if broke else await self._next(unit, record, cells, until=until, found=found)
            for draft in drafts:
                await self.writer.write(unit, Caller(account_id), draft)
            if not drafts:
                await self._end(unit, record)
        _log.info("compare.looked", extra={"compare_id": str(compare_id), "started": len(drafts)})
        return len(drafts)

    async def _next(
        self,
        unit: Unit,
        record: CompareRecord,
        cells: Sequence[Sequence[Run]],
        *,
        until: UntilDecided,
        found: Mapping[int, Standing],
    ) -> list[Draft]:
        """Draft the next runs of the baseline and of every cell that is open and can pay; none at the end."""
        wanted = [place for place, standing in found.items() if standing.open]
        left = {place: _left(record, place, cells[place]) for place in (record.baseline, *wanted)}
        able = [place for place in left if cells[place] and _enough(left[place])]
        others = [place for place in wanted if place in able]
        if record.baseline not in able or not others:
            return []
        chosen = portion(
            str(record.id),
            [UUID(case) for case in record.case_ids],
            tried=max(found[place].tried for place in others),
            limit=until.max_trials,
        )
        there = await cases.by_ids(unit, record.account_id, record.integration_id, chosen)
        chosen = [case for case in chosen if case in there]
        if not chosen:
            return []
        return [
            _draft(unit, record, cells[place][0], chosen, budget_micro=left[place])
            for place in (record.baseline, *others)
        ]

    async def _end(self, unit: Unit, record: CompareRecord) -> None:
        now = self.clock()
        await compares.change(
            unit,
            record.id,
            {"status": CompareStatus.COMPLETED.value, "completed_at": now, "updated_at": now},
        )


def _left(record: CompareRecord, place: int, runs: Sequence[Run]) -> int | None:
    """What a cell may still spend of its share of the budget; None without one."""
    share: int | None = record.matrix[place]["budgetMicro"]
    return None if share is None else share - sum(run["cost_micro"] for run in runs)


def _enough(left: int | None) -> bool:
    return left is None or left >= MICRO_PER_CENT


def _draft(
    unit: Unit, record: CompareRecord, first: Run, chosen: Sequence[UUID], *, budget_micro: int | None
) -> Draft:
    """Draft a cell's next run with what its first one was started with, and the cases as they are now."""
    settings = RunSettings.model_validate(first["settings"])

    async def read(ids: Sequence[UUID]) -> Sequence[tuple[CaseSnapshot, str]]:
        found = await cases.by_ids(unit, record.account_id, record.integration_id, ids)
        threshold = settings.score_threshold
        return [
            (case_snapshot(found[case], score_threshold=threshold), found[case].search_text) for case in ids
        ]

    return Draft(
        settings=settings,
        case_ids=chosen,
        read=read,
        trigger=Trigger(first["trigger"]),
        tags=tuple(first["tags"]),
        warnings=(),
        budget_micro=budget_micro,
        agent_id=first["agent_id"],
        prompt_version_id=first["prompt_version_id"],
        compare_run_id=record.id,
    )


def _described(cell: int, standing: Standing, *, over: bool, until: UntilDecided) -> CellStanding:
    seen = standing.look
    verdict = ComparisonVerdict.UNDECIDED if over and seen.verdict is None else seen.verdict
    return CellStanding(
        cell=cell,
        verdict=verdict,
        summary=_summary(verdict, standing, until),
        trials=standing.tried,
        pairs=seen.pairs,
        difference=seen.difference,
        interval=seen.interval,
        evidence=min(seen.evidence, _MOST_EVIDENCE),
    )


def _summary(verdict: ComparisonVerdict | None, standing: Standing, until: UntilDecided) -> str:
    low, high = (_points(end) for end in standing.look.interval)
    after = f"after {standing.look.pairs} pairs; the difference lies between {low} and {high} points"
    match verdict:
        case None:
            return f"open {after}"
        case ComparisonVerdict.BETTER | ComparisonVerdict.WORSE:
            return f"{verdict.value} by {_points(abs(standing.look.difference or 0))} points {after}"
        case ComparisonVerdict.NO_DIFFERENCE:
            return f"no difference of {_points(until.min_detectable or 0)} points or more {after}"
        case ComparisonVerdict.UNDECIDED:
            return f"undecided {after}"
        case _:
            assert_never(verdict)


def _points(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0")
