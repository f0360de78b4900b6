"""Whether a run that ends got worse than those before, by evidence: what its gate needs beside its rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from proctor_contracts.enums import RunMode, RunStatus
from proctor_store.repositories import looks
from proctor_store.session import Unit

from .work import RunWork

if TYPE_CHECKING:
    from proctor_grading.regression import CategoryFinding

__all__ = ["regressions"]

SCANNED = 100
"""Runs looked through for those that were played alike."""

LOOKBACK = 7
ENOUGH_RUNS = 3
_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """A run as it will be found by later ones."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    completed_at: datetime
    runner: str
    weather: tuple[str, ...]


async def regressions(unit: Unit, run: RunWork, *, ended: RunStatus, now: datetime) -> Sequence[str]:
    """Say of each category with a regression how far it fell; most runs have none and cost two queries."""
    if ended is not RunStatus.COMPLETED or not _comparable(run):
        return ()
    ending = _Ending(
        id=run.row.id,
        account_id=run.row.account_id,
        integration_id=run.row.integration_id,
        completed_at=now,
        runner=run.settings.runner.value,
        weather=run.settings.weather,
    )
    before = await looks.earlier(unit, ending, take=LOOKBACK, scan=SCANNED)
    if len(before) < ENOUGH_RUNS:
        return ()
    # Most commands end without a history to compare with, and without loading what compares.
    from proctor_contracts.verdicts import RegressionVerdict  # noqa: PLC0415 - see above
    from proctor_grading.baseline import FirstAttempts  # noqa: PLC0415 - see above
    from proctor_grading.regression import fell, first_look  # noqa: PLC0415 - see above

    scores = FirstAttempts()
    async for page in looks.pages(unit, [ending.id, *(one.id for one in before)]):
        for row in page:
            scores.add(row["run_id"], row["category"], row["case_id"], row["history"])
    current, baseline = scores.of(ending.id), [scores.of(one.id) for one in before]
    if not fell(current, baseline):
        return ()
    # Counting out a large category takes a while; conversations of other runs go on meanwhile.
    found = await asyncio.to_thread(first_look, current, baseline)
    worse = [(name, one) for name, one in found.items() if one.verdict is RegressionVerdict.REGRESSION]
    worse.sort(key=lambda each: -(each[1].drop or 0))
    return [_message(name, finding) for name, finding in worse[:_NAMED]]


def _comparable(run: RunWork) -> bool:
    """Whether the run tried the bot as it is, with its cases as they are chosen."""
    row = run.row
    return (
        row.mode == RunMode.CASE
        and not row.prompt_overridden
        and row.compare_run_id is None
        and row.rerun_of is None
        and row.confirms_run_id is None
    )


def _message(category: str, finding: CategoryFinding) -> str:
    return (
        f"{category} got worse: {finding.current_avg:.0f} points, {finding.baseline_avg or 0:.0f} in the "
        f"{finding.runs_used} runs before (p = {finding.p_value or 0:.2g}, {finding.n} cases)"
    )
