"""The end of a run: its numbers from its rows, its gate, and one `run.completed`."""

from __future__ import annotations

from datetime import datetime

from proctor_contracts.enums import RunMode, RunStatus, Trigger
from proctor_contracts.messages import RunCompleted
from proctor_contracts.summary import RunSummary
from proctor_grading.gate import EVERY_CASE, gate, is_critical
from proctor_grading.rows import ResultRow
from proctor_grading.summary import Tally
from proctor_store.repositories import pipeline, tally
from proctor_store.session import Unit

from .regressing import regressions
from .tally import result_rows
from .work import RunWork

__all__ = ["complete", "final_status"]


def final_status(summary: RunSummary) -> RunStatus:
    """Choose how a run that was not cancelled ended: `failed` when nothing but errors came of it."""
    return RunStatus.FAILED if summary.error == summary.total else RunStatus.COMPLETED


async def complete(unit: Unit, run: RunWork, *, now: datetime, status: RunStatus | None = None) -> bool:
    """Complete a run that has nothing left; False when another replica already has.

    `status` is given for a cancelled run, otherwise the numbers choose it.
    """
    settings = run.settings.gate or EVERY_CASE
    counted, critical = Tally(), list[ResultRow]()
    async for page in tally.pages(unit, run.row.id):
        for row in result_rows(page):
            counted.add(row)
            if is_critical(row, settings):
                critical.append(row)
    started = run.put.get("started_at", run.row.started_at)
    summary = counted.summary(
        duration_ms=None if started is None else int((now - started).total_seconds() * 1000)
    )
    ended = status or final_status(summary)
    worse = await regressions(unit, run, ended=ended, now=now)
    decision = gate(critical, settings, ended, summary=summary, regressions=worse)
    run.event("run.completed", {"status": ended.value, **_headline(summary)})
    changed = await pipeline.finish_run(
        unit,
        run.row.id,
        values={
            "status": ended.value,
            "completed_at": now,
            "summary": summary.model_dump(mode="json", by_alias=True),
            "gate_decision": decision.model_dump(mode="json", by_alias=True),
            "event_seq": run.row.event_seq + run.add["event_seq"],
            "in_flight": 0,
            "judging": 0,
            "reserved_micro": 0,
        },
    )
    if not changed:
        run.events.pop()
        return False
    run.send(
        RunCompleted(
            run_id=run.row.id,
            account_id=run.row.account_id,
            integration_id=run.row.integration_id,
            status=ended,
            mode=RunMode(run.row.mode),
            trigger=Trigger(run.row.trigger),
            compare_run_id=run.row.compare_run_id,
            prompt_overridden=run.row.prompt_overridden,
            schedule_id=run.row.schedule_id,
            confirms_run_id=run.row.confirms_run_id,
            completed_at=now,
            summary=summary,
        )
    )
    return True


def _headline(summary: RunSummary) -> dict[str, object]:
    return {
        "total": summary.total,
        "passed": summary.passed,
        "failed": summary.failed,
        "error": summary.error,
        "cancelled": summary.cancelled,
        "flaky": summary.flaky,
        "passRate": summary.pass_rate,
    }
