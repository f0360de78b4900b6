"""What happens to a result when a worker reports: pure decisions on what was seen and what was planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor_contracts.agents import JudgePolicy, JudgeSettings
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import ResultStatus
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.results import AssertionResult, Verdict
from proctor_grading.retries import Again, Done, next_step
from proctor_grading.scoring import CaseVerdict, best_possible, decide, skip_judge

__all__ = [
    "AskJudge",
    "AttemptOutcome",
    "Final",
    "Plan",
    "Retry",
    "Step",
    "after_execution",
    "after_judging",
    "merged",
]

JUDGE_MISSING = "judge_missing"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run decided in advance about judging and retrying."""

    retries_on_failure: int
    judge: JudgeSettings | None
    judge_policy: JudgePolicy


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """How one attempt ended."""

    status: ResultStatus
    score: int | None


@dataclass(frozen=True, slots=True)
class AskJudge:
    """The attempt waits for the judge on these results."""

    pending: tuple[AssertionResult, ...]


@dataclass(frozen=True, slots=True)
class Retry:
    """The attempt failed and another is due."""

    outcome: AttemptOutcome


@dataclass(frozen=True, slots=True)
class Final:
    """The result is over; `deciding` is the attempt whose transcript explains it."""

    status: ResultStatus
    outcome: AttemptOutcome
    verdict: CaseVerdict
    flaky: bool
    deciding: int


Step = AskJudge | Retry | Final


def after_execution(
    case: CaseSnapshot, executed: CaseExecuted, history: Sequence[AttemptOutcome], plan: Plan
) -> Step:
    """Decide what follows an executed attempt: the judge, a retry, or the end."""
    if executed.error is not None:
        verdict = CaseVerdict(ResultStatus.ERROR, None, None, None, executed.error)
        return _settle(case, verdict, history, plan)
    results = executed.assertion_results
    pending = [result for result in results if result.verdict is Verdict.PENDING]
    if not pending:
        return _settle(case, decide(results, case.threshold), history, plan)
    if plan.judge_policy == "undecided" and (lost := best_possible(results, case.threshold)) is not None:
        return _settle(case, lost, history, plan)
    if plan.judge is None:
        return _settle(case, decide(_without_judge(results), case.threshold), history, plan)
    return AskJudge(tuple(pending))


def after_judging(
    case: CaseSnapshot,
    executed: Sequence[AssertionResult],
    judged: Sequence[AssertionResult],
    history: Sequence[AttemptOutcome],
    plan: Plan,
) -> Step:
    """Decide what follows a judged attempt: a retry or the end."""
    return _settle(case, decide(merged(executed, judged, plan), case.threshold), history, plan)


def merged(
    executed: Sequence[AssertionResult], judged: Sequence[AssertionResult], plan: Plan
) -> tuple[AssertionResult, ...]:
    """Put the judge's results in their places; one that never came is undecided, never a pass."""
    by_index = {result.index: result for result in judged}
    filled = tuple(
        by_index.get(result.index, result) if result.verdict is Verdict.PENDING else result
        for result in executed
    )
    if plan.judge is None:
        return _without_judge(filled)
    if plan.judge_policy == "undecided" and not judged:
        return skip_judge(filled)
    return tuple(
        _undecided(result, "judge_error", "the judge gave no answer for this criterion")
        if result.verdict is Verdict.PENDING
        else result
        for result in filled
    )


def _settle(
    case: CaseSnapshot, verdict: CaseVerdict, history: Sequence[AttemptOutcome], plan: Plan
) -> Retry | Final:
    outcome = AttemptOutcome(verdict.status, verdict.score)
    attempts = [*history, outcome]
    step = next_step(case.retry_policy, plan.retries_on_failure, [attempt.status for attempt in attempts])
    match step:
        case Again():
            return Retry(outcome)
        case Done(deciding_attempt=deciding) if deciding == len(attempts):
            return Final(step.status, outcome, verdict, step.flaky, deciding)
        case Done(deciding_attempt=deciding):
            # An earlier attempt explains the result, so its score is the one to show.
            points = attempts[deciding - 1].score
            return Final(
                step.status, outcome, CaseVerdict(step.status, points, points, points), step.flaky, deciding
            )


def _without_judge(results: Sequence[AssertionResult]) -> tuple[AssertionResult, ...]:
    message = (
        "no judge is set: give the run a judge {provider, model}, or set PROCTOR_JUDGE_PROVIDER and _MODEL"
    )
    return tuple(
        _undecided(result, JUDGE_MISSING, message) if result.verdict is Verdict.PENDING else result
        for result in results
    )


def _undecided(result: AssertionResult, code: str, message: str) -> AssertionResult:
    return result.model_copy(
        update={"verdict": Verdict.UNRESOLVED, "passed": None, "code": code, "message": message}
    )
