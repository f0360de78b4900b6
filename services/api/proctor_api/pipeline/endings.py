"""Writing down how a result ended, whoever decided it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from proctor_grading.scoring import Tag

from .steps import Final
from .work import ResultWork, RunWork

__all__ = ["end_result", "release"]


def end_result(
    run: RunWork, result: ResultWork, step: Final, history: list[list[Any]], *, event: str, now: datetime
) -> None:
    """End a result with its attempts' `history` as it is stored, count it, and tell it as `event`."""
    release(run, result)
    verdict = step.verdict
    error = None if verdict.error is None else verdict.error.model_dump(mode="json", by_alias=True)
    result.change |= {
        "status": step.status.value,
        "stage": "done",
        "history": history,
        "deciding_attempt": step.deciding,
        "score": verdict.score,
        "score_min": verdict.score_min,
        "score_max": verdict.score_max,
        "first_status": history[0][0],
        "flaky": step.flaky,
        "needs_review": Tag.NEEDS_REVIEW in verdict.tags,
        "error": error,
        "completed_at": now,
    }
    run.ended(step.status)
    if step.flaky:
        run.add["flaky"] += 1
    run.event(
        event,
        {
            **result.label(),
            "status": step.status.value,
            "score": verdict.score,
            "flaky": step.flaky,
            "error": None if error is None else error["code"],
        },
    )


def release(run: RunWork, result: ResultWork, *, keep: int = 0) -> None:
    """Give back what was reserved for an attempt, but for `keep` micro-USD that its judging may cost."""
    reserved = result.now("reserved_micro")
    kept = min(keep, reserved)
    if reserved != kept:
        run.add["reserved_micro"] -= reserved - kept
        result.change["reserved_micro"] = kept
