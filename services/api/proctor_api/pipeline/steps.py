"""What happens to a result when a worker reports: pure decisions on what was seen and what was planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor_contracts.agents import JudgePolicy, JudgeSettings
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import ResultStatus, RetryPolicy
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.results import AssertionResult, CaseError, Verdict
from proctor_grading.retries import Again, Done, next_step
from proctor_grading.scoring import CaseVerdict, Tag, best_possible, decide, skip_judge

__all__ = [
    "AskJudge",
    "AttemptOutcome",
    "Final",
    "Plan",
    "Retry",
    "Step",
    "after_execution",
    "after_judging",
    "cut_short",
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
    """How one attempt ended; `score` is None when only the interval is known."""

    status: ResultStatus
    score: int | None
    score_min: int | None = None
    score_max: int | None = None
    needs_review: bool = False

    def stored(self) -> list[str | int | bool | None]:
        """The outcome as a row keeps it; `AttemptOutcome(ResultStatus(first), *rest)` reads it back."""
        return [self.status.value, self.score, self.score_min, self.score_max, self.needs_review]

    @classmethod
    def of(cls, verdict: CaseVerdict) -> AttemptOutcome:
        """Keep of a verdict what a later attempt may have to show."""
        return cls(
            verdict.status,
            verdict.score,
            verdict.score_min,
            verdict.score_max,
            Tag.NEEDS_REVIEW in verdict.tags,
        )

    def verdict(self, status: ResultStatus) -> CaseVerdict:
        """Show this attempt's points for a result that ended as `status`."""
        tags = (Tag.NEEDS_REVIEW,) if self.needs_review else ()
        return CaseVerdict(status, self.score, self.score_min, self.score_max, None, tags)


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


def cut_short(case: CaseSnapshot, history: Sequence[AttemptOutcome], *, error: CaseError) -> Final:
    """End a result that was to be retried when nothing more can be spent: what was seen is the answer.

    A case whose attempts must all pass cannot be called passed without the missing ones, so it gets `error`.
    """
    step = next_step(case.retry_policy, 0, [attempt.status for attempt in history])
    if isinstance(step, Again):
        raise AssertionError("no retries were left to ask for")  # noqa: TRY004 - a fault of ours, not a type
    if case.retry_policy is RetryPolicy.ALL and step.status is ResultStatus.PASSED:
        verdict = CaseVerdict(ResultStatus.ERROR, None, None, None, error)
        return Final(ResultStatus.ERROR, history[-1], verdict, flaky=False, deciding=len(history))
    shown = history[step.deciding_attempt - 1]
    return Final(step.status, shown, shown.verdict(step.status), step.flaky, step.deciding_attempt)


def _settle(
    case: CaseSnapshot, verdict: CaseVerdict, history: Sequence[AttemptOutcome], plan: Plan
) -> Retry | Final:
    outcome = AttemptOutcome.of(verdict)
    attempts = [*history, outcome]
    step = next_step(case.retry_policy, plan.retries_on_failure, [attempt.status for attempt in attempts])
    match step:
        case Again():
            return Retry(outcome)
        case Done(deciding_attempt=deciding) if deciding == len(attempts):
            return Final(step.status, outcome, verdict, step.flaky, deciding)
        case Done(deciding_attempt=deciding):
            # An earlier attempt explains the result, so its score is the one to show.
            shown = attempts[deciding - 1].verdict(step.status)
            return Final(step.status, outcome, shown, step.flaky, deciding)


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
