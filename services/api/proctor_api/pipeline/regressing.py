"""Whether a run that ends got worse than those before, by evidence: what its gate needs beside its rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from proctor_contracts.enums import RunStatus
from proctor_store.repositories import looks
from proctor_store.session import Unit

from .work import RunWork

if TYPE_CHECKING:
    from proctor_grading.regression import CategoryFinding

__all__ = ["regressions"]

SCANNED = 100
"""Runs looked through for those that were played alike."""

LOOKBACK = 7
_NAMED = 10


async def regressions(unit: Unit, run: RunWork, *, ended: RunStatus, now: datetime) -> Sequence[str]:
    """Say of each category with a regression how far it fell; most runs have none and cost two queries."""
    row = run.row
    ending = looks.Played(
        id=row.id,
        account_id=row.account_id,
        integration_id=row.integration_id,
        status=ended.value,
        mode=row.mode,
        prompt_overridden=row.prompt_overridden,
        compare_run_id=row.compare_run_id,
        rerun_of=row.rerun_of,
        confirms_run_id=row.confirms_run_id,
        completed_at=now,
        runner=run.settings.runner.value,
        weather=run.settings.weather,
    )
    if not ending.comparable:
        return ()
    before = await looks.earlier(unit, ending, take=LOOKBACK, scan=SCANNED)
    if not before:
        return ()
    # Most commands end without a history to compare with, and without loading what compares.
    from proctor_contracts.verdicts import RegressionVerdict  # noqa: PLC0415 - see above
    from proctor_grading.baseline import FirstAttempts  # noqa: PLC0415 - see above
    from proctor_grading.regression import ENOUGH_RUNS, fell, first_look  # noqa: PLC0415 - see above

    if len(before) < ENOUGH_RUNS:
        return ()
    scores = FirstAttempts()
    async for page in looks.pages(unit, [ending.id, *(one.id for one in before)]):
        for result in page:
            scores.add(result["run_id"], result["category"], result["case_id"], result["history"])
    current, baseline = scores.of(ending.id), [scores.of(one.id) for one in before]
    if not fell(current, baseline):
        return ()
    # Counting out a large category takes a while; conversations of other runs go on meanwhile.
    found = await asyncio.to_thread(first_look, current, baseline)
    worse = [(name, one) for name, one in found.items() if one.verdict is RegressionVerdict.REGRESSION]
    worse.sort(key=lambda each: -(each[1].drop or 0))
    return [_message(name, finding) for name, finding in worse[:_NAMED]]


def _message(category: str, finding: CategoryFinding) -> str:
    return (
        f"{category} got worse: {finding.current_avg:.0f} points, {finding.baseline_avg or 0:.0f} in the "
        f"{finding.runs_used} runs before (p = {finding.p_value or 0:.2g}, {finding.n} cases)"
    )
