"""Jobs that nobody could finish: from a dead letter or a refused message to the report that ends the case."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from proctor_chassis.bus.port import DeadLetter
from proctor_contracts.enums import Blame
from proctor_contracts.messages import CaseExecuted, CaseJudged
from proctor_contracts.results import CaseError
from proctor_contracts.topology import COLLECTOR_RESULTS, JUDGE_CASES
from proctor_store.repositories import pipeline
from proctor_store.repositories.outbox import Outgoing
from proctor_store.session import Unit

from .batch import Report

__all__ = ["Loss", "dead_letter_loss", "report_of_loss", "undeliverable_loss"]

JOB_PARTS = 4


@dataclass(frozen=True, slots=True)
class Loss:
    """A job by its name, and why it is lost."""

    run_id: UUID
    case_id: UUID
    trial: int
    attempt: int
    judging: bool
    error: CaseError


def dead_letter_loss(letter: DeadLetter) -> Loss | None:
    """Read what a dead letter was about; None when it is not a case's."""
    known = letter.queue.startswith("proctor.runner.cases.") or letter.queue in {
        JUDGE_CASES.name,
        COLLECTOR_RESULTS.name,
    }
    message = (
        f"the job was given up by {letter.queue} ({letter.reason}); "
        "look at that service's log, then run the errored cases again"
    )
    return (
        _loss(letter.id, CaseError(code="job_dead", message=message, blame=Blame.INFRASTRUCTURE))
        if known
        else None
    )


def undeliverable_loss(message: Outgoing, reason: str) -> Loss | None:
    """Read what a message that the broker refused was about; None when it is not a case's."""
    error = CaseError(
        code="undeliverable",
        message=f"the job could not be sent ({reason}); is the run's pool among PROCTOR_POOLS?",
        blame=Blame.INFRASTRUCTURE,
    )
    return _loss(message.message_id, error)


def _loss(name: str, error: CaseError) -> Loss | None:
    parts = name.split(":")
    judging = parts[-1] == "judge"
    if judging:
        parts.pop()
    if len(parts) != JOB_PARTS:
        return None
    try:
        return Loss(UUID(parts[0]), UUID(parts[1]), int(parts[2]), int(parts[3]), judging, error)
    except ValueError:
        return None


async def report_of_loss(unit: Unit, loss: Loss, *, now: datetime) -> Report | None:
    """Write the report that a worker could not; None when nothing waits for it any more."""
    found = await pipeline.result_of_job(unit, loss.run_id, loss.case_id, loss.trial)
    if found is None or found[1] != loss.attempt:
        return None
    result_id = found[0]
    if loss.judging:
        # Without the judge's results its criteria stay undecided, which is what happened.
        return CaseJudged(
            run_id=loss.run_id,
            result_id=result_id,
            case_id=loss.case_id,
            trial=loss.trial,
            attempt=loss.attempt,
            finished_at=now,
            logs=(loss.error.message,),
        )
    return CaseExecuted(
        run_id=loss.run_id,
        result_id=result_id,
        case_id=loss.case_id,
        trial=loss.trial,
        attempt=loss.attempt,
        error=loss.error,
        started_at=now,
        finished_at=now,
    )
