"""From assertion results to a case's score and status: scores are intervals, and the interval decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proctor_contracts.enums import Blame, ResultStatus
from proctor_contracts.results import AssertionResult, CaseError, Criterion, Evaluation, Verdict

from .statistics import half_up

__all__ = [
    "CaseVerdict",
    "Score",
    "Tag",
    "best_possible",
    "decide",
    "evaluation",
    "half_up",
    "score",
    "skip_judge",
]


class Tag(StrEnum):
    """Marks that a verdict puts on a result."""

    NEEDS_REVIEW = "needs_review"


@dataclass(frozen=True, slots=True)
class Score:
    """Points 0-100 as an interval: `worst` counts what is undecided as failed, `best` as passed.

    Both are None when nothing counts (`weight` 0).
    """

    worst: int | None
    best: int | None
    weight: int
    undecided: int

    @property
    def exact(self) -> int | None:
        """The score when it is known, None when only an interval is."""
        return self.worst if self.worst == self.best else None


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What one attempt of a case came to."""

    status: ResultStatus
    score: int | None
    score_min: int | None
    score_max: int | None
    error: CaseError | None = None
    tags: tuple[str, ...] = ()


def score(results: Iterable[AssertionResult]) -> Score:
    """Weigh the results; what is not applicable leaves both sides, what is undecided makes an interval."""
    passed = undecided = total = 0
    for result in results:
        if result.verdict is Verdict.NOT_APPLICABLE:
            continue
        total += result.weight
        if result.verdict is Verdict.PASSED:
            passed += result.weight
        elif result.verdict is not Verdict.FAILED:
            undecided += result.weight
    if total == 0:
        return Score(None, None, 0, undecided)
    worst = half_up(100 * passed, total)
    return Score(worst, half_up(100 * (passed + undecided), total) if undecided else worst, total, undecided)


def decide(results: Sequence[AssertionResult], threshold: int) -> CaseVerdict:
    """Decide a case: a failed required check fails it, an undecided one is an error, then the interval says.

    A judge result that is still pending counts as undecided.
    """
    points = score(results)
    tags = _tags(results)
    if any(result.required and result.verdict is Verdict.FAILED for result in results):
        return _verdict(ResultStatus.FAILED, points, tags)
    open_required = [result for result in results if result.required and _undecided(result)]
    if open_required:
        return _inconclusive(points, results, tags, "a required check could not be decided")
    if points.worst is None or points.best is None:
        nothing = CaseError(
            code="nothing_to_grade",
            message="no check of this case had anything to say, so there is no score; add one that applies",
            blame=Blame.INFRASTRUCTURE,
        )
        return CaseVerdict(ResultStatus.ERROR, None, None, None, nothing, tags)
    if points.worst >= threshold:
        return _verdict(ResultStatus.PASSED, points, tags)
    if points.best < threshold:
        return _verdict(ResultStatus.FAILED, points, tags)
    why = f"the score lies between {points.worst} and {points.best}, and so does the threshold {threshold}"
    return _inconclusive(points, results, tags, why)


def best_possible(results: Sequence[AssertionResult], threshold: int) -> CaseVerdict | None:
    """Return the failed verdict of a case that no judge can save any more, or None when the judge is needed.

    A case that could only be decided as passed still needs its judge.
    """
    points = score(results)
    lost = any(result.required and result.verdict is Verdict.FAILED for result in results)
    if lost or (points.best is not None and points.best < threshold):
        return _verdict(ResultStatus.FAILED, points, _tags(results))
    return None


def skip_judge(results: Sequence[AssertionResult]) -> tuple[AssertionResult, ...]:
    """Mark the judge checks of a case that is decided without them."""
    return tuple(
        result.model_copy(
            update={
                "verdict": Verdict.UNRESOLVED,
                "code": "judge_skipped",
                "message": "not judged: the case had already failed",
            }
        )
        if result.verdict is Verdict.PENDING
        else result
        for result in results
    )


def evaluation(results: Sequence[AssertionResult], verdict: CaseVerdict) -> Evaluation:
    """Describe a graded case in the form of one line per assertion."""
    failing = [result for result in results if result.verdict is Verdict.FAILED]
    open_ = [result for result in results if _undecided(result)]
    parts = []
    if failing:
        parts.append(f"Failed: {_told(failing)}")
    if open_:
        parts.append(f"Undecided: {_told(open_)}")
    suggestions = dict.fromkeys(
        _SUGGESTIONS[result.code] for result in (*failing, *open_) if result.code in _SUGGESTIONS
    )
    return Evaluation(
        score=verdict.score,
        passed={ResultStatus.PASSED: True, ResultStatus.FAILED: False}.get(verdict.status),
        score_min=verdict.score_min,
        score_max=verdict.score_max,
        criteria=tuple(
            Criterion(name=_name(result), score=_POINTS.get(result.verdict), comment=result.message)
            for result in results
        ),
        reasoning=". ".join(parts) or "All assertions passed",
        suggestions=tuple(suggestions),
    )


_TOLD = 10
_POINTS = {Verdict.PASSED: 100, Verdict.FAILED: 0}

_SUGGESTIONS = {
    "no_agent_message": "The agent answered nothing: look at its log, or at replyPath.",
    "no_tool_capture": "Tool calls are not recorded: run the case with runner gateway, set "
    "endpoint.toolCallsPath, or drop the tool checks.",
    "no_effect_ledger": "Only runs with runner gateway keep a ledger of writes.",
    "tools_not_reported": "Check endpoint.toolCallsPath, or set toolCallsOptional if the bot leaves it out.",
    "invalid_pattern": "Correct the pattern and save the case again.",
    "regex_timeout": "Write the pattern without nested repetition such as (a+)+.",
    "unknown_price": "Add the model to the price table.",
    "no_timing": "The agent's adapter reports no such time; choose another metric.",
    "no_usage": "The agent reports no token counts; set endpoint.usagePath.",
    "no_prompt": "Give the integration its agentPrompt, so that a leak can be seen.",
    "language_unsupported": "Install the language extra, or check uk, ru or en.",
    "judge_error": "Read the judge's raw answers; another judge model or more votes may help.",
    "judge_unsure": "Write the rubric so that the transcript can answer it.",
}

_BLAME = {
    "tools_not_reported": Blame.AGENT,
    "no_usage": Blame.AGENT,
    "no_timing": Blame.AGENT,
    "unknown_price": Blame.PROVIDER,
}


def _undecided(result: AssertionResult) -> bool:
    return result.verdict in {Verdict.UNRESOLVED, Verdict.PENDING}


def _name(result: AssertionResult) -> str:
    return f"{result.kind} [{result.ref or '-'}]"


def _told(results: Sequence[AssertionResult]) -> str:
    told = "; ".join(f"{_name(result)}: {result.message}" for result in results[:_TOLD])
    return f"{told}; and {len(results) - _TOLD} more" if len(results) > _TOLD else told


def _tags(results: Sequence[AssertionResult]) -> tuple[str, ...]:
    attacked = any(vote.injection_attempt for result in results for vote in result.votes)
    return (Tag.NEEDS_REVIEW,) if attacked else ()


def _verdict(status: ResultStatus, points: Score, tags: tuple[str, ...]) -> CaseVerdict:
    return CaseVerdict(status, points.exact, points.worst, points.best, None, tags)


def _inconclusive(
    points: Score, results: Sequence[AssertionResult], tags: tuple[str, ...], why: str
) -> CaseVerdict:
    open_ = [result for result in results if _undecided(result)]
    codes = ", ".join(dict.fromkeys(result.code or result.verdict for result in open_))
    error = CaseError(
        code="inconclusive",
        message=f"{len(open_)} of {len(results)} checks could not be decided ({codes}): {why}",
        blame=_blame(open_[0]),
    )
    review = tags if Tag.NEEDS_REVIEW in tags else (*tags, Tag.NEEDS_REVIEW)
    return CaseVerdict(ResultStatus.ERROR, None, points.worst, points.best, error, review)


def _blame(result: AssertionResult) -> Blame:
    if result.kind == "judge":
        return Blame.JUDGE
    return _BLAME.get(result.code or "", Blame.INFRASTRUCTURE)
