"""From a stored result and its attempts to what clients see of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor_api.pipeline.steps import Plan, merged
from proctor_contracts.effects import Effect
from proctor_contracts.enums import Priority, ResultStatus
from proctor_contracts.results import AssertionResult, CaseError, Evaluation
from proctor_contracts.schemas.runs import AttemptView, ResultView
from proctor_contracts.transcript import TranscriptEntry, Usage
from proctor_grading.scoring import CaseVerdict, evaluation

from .run_view import cents

__all__ = ["result_view"]

Phases = Mapping[int, Mapping[str, Mapping[str, Any]]]

_GRADED = {ResultStatus.PASSED, ResultStatus.FAILED, ResultStatus.ERROR}


def result_view(row: Mapping[Any, Any], phases: Phases, plan: Plan, *, include_attempts: bool) -> ResultView:
    """Describe a result: the deciding attempt whole, and on request every attempt."""
    status = ResultStatus(row["status"])
    shown = row["deciding_attempt"] or row["attempt"]
    executed = phases.get(shown, {}).get("executed", {})
    assertions = _assertions(phases.get(shown, {}), plan, over=shown <= len(row["history"]))
    latencies = row["latencies"] or []
    return ResultView(
        id=row["id"],
        run_id=row["run_id"],
        case_id=row["case_id"],
        case_ref=row["ref"],
        case_name=row["name"],
        category=row["category"],
        priority=Priority(row["priority"]),
        critical=row["critical"],
        weight=row["weight"],
        threshold=row["snapshot"]["threshold"],
        tags=tuple(row["tags"]),
        trial=row["trial"],
        status=status,
        score=row["score"],
        score_min=row["score_min"],
        score_max=row["score_max"],
        evaluation=_evaluation(row, status, assertions),
        assertion_results=assertions,
        transcript=_transcript(executed),
        outcomes=executed.get("outcomes", {}),
        effects=_effects(executed),
        weather=row["weather"],
        duration=row["duration_ms"],
        duration_ms=row["duration_ms"],
        latency_ms=max(latencies, default=None),
        usage=Usage.model_validate(row["usage"] or {}),
        judge_usage=Usage.model_validate(row["judge_usage"] or {}),
        cost_cents=cents(row["cost_micro"]),
        error=_error(row["error"]),
        logs=tuple(line for phase in phases.get(shown, {}).values() for line in phase.get("logs", ())),
        attempt_count=max(len(row["history"]), 1 if row["attempt"] else 0),
        flaky=row["flaky"],
        first_attempt_status=None if row["first_status"] is None else ResultStatus(row["first_status"]),
        needs_review=row["needs_review"],
        attempts=_attempts(row, phases, plan) if include_attempts else (),
        started_at=row["started_at"],
        completed_at=row["completed_at"],
    )


def _attempts(row: Mapping[Any, Any], phases: Phases, plan: Plan) -> tuple[AttemptView, ...]:
    views = []
    for number in sorted(phases):
        history = row["history"]
        over = number <= len(history)
        status, score = history[number - 1][:2] if over else (row["status"], None)
        executed = phases[number].get("executed", {})
        views.append(
            AttemptView(
                attempt=number,
                status=ResultStatus(status),
                score=score,
                assertion_results=_assertions(phases[number], plan, over=over),
                transcript=_transcript(executed),
                effects=_effects(executed),
                error=_error(executed.get("error")),
                duration_ms=executed.get("durationMs"),
            )
        )
    return tuple(views)


def _assertions(
    attempt: Mapping[str, Mapping[str, Any]], plan: Plan, *, over: bool
) -> tuple[AssertionResult, ...]:
    """Read an attempt's results; once it is `over`, what the judge did not see was left out on purpose."""
    executed = [
        AssertionResult.model_validate(r) for r in attempt.get("executed", {}).get("assertionResults", ())
    ]
    if "judged" not in attempt and not over:
        return tuple(executed)
    judged = [
        AssertionResult.model_validate(r) for r in attempt.get("judged", {}).get("assertionResults", ())
    ]
    return merged(executed, judged, plan)


def _transcript(executed: Mapping[str, Any]) -> tuple[TranscriptEntry, ...]:
    return tuple(TranscriptEntry.model_validate(entry) for entry in executed.get("transcript", ()))


def _effects(executed: Mapping[str, Any]) -> tuple[Effect, ...]:
    return tuple(Effect.model_validate(effect) for effect in executed.get("effects", ()))


def _error(error: Mapping[str, Any] | None) -> CaseError | None:
    return None if error is None else CaseError.model_validate(error)


def _evaluation(
    row: Mapping[Any, Any], status: ResultStatus, assertions: tuple[AssertionResult, ...]
) -> Evaluation | None:
    if status not in _GRADED or not assertions:
        return None
    verdict = CaseVerdict(status, row["score"], row["score_min"], row["score_max"], _error(row["error"]))
    return evaluation(assertions, verdict)
