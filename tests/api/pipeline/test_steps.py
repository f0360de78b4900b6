"""What follows a report: every branch of the decision, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from proctor_api.pipeline.steps import (
    AskJudge,
    AttemptOutcome,
    Final,
    Plan,
    Retry,
    after_execution,
    after_judging,
    cut_short,
    merged,
)
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import Blame, ResultStatus
from proctor_contracts.messages import CaseExecuted
from proctor_contracts.results import AssertionResult, CaseError, JudgeVote, Verdict
from proctor_grading.scoring import Tag
from tests.support.platform import JUDGE

P, F, E = ResultStatus.PASSED, ResultStatus.FAILED, ResultStatus.ERROR
AT = datetime(2026, 1, 1, tzinfo=UTC)
BROKE = CaseError(code="budget_exhausted", message="немає грошей", blame=Blame.INFRASTRUCTURE)


def snapshot(**more: Any) -> CaseSnapshot:
    fields = {
        "id": UUID(int=1),
        "name": "А",
        "category": "Мова",
        "input": {"kind": "scripted_single", "message": "Привіт"},
        "assertions": [
            {"kind": "contains", "value": "так"},
            {"kind": "judge", "rubric": "Чемно."},
        ],
    }
    return CaseSnapshot.model_validate(fields | more)


def plan(*, retries: int = 0, judge: bool = True, policy: Any = "always") -> Plan:
    return Plan(retries, JUDGE if judge else None, policy)


def result(index: int, verdict: Verdict, **more: Any) -> AssertionResult:
    fields: dict[str, Any] = {"index": index, "kind": "judge" if index else "contains", "verdict": verdict}
    return AssertionResult(**(fields | more))


def report(*results: AssertionResult, error: CaseError | None = None) -> CaseExecuted:
    return CaseExecuted(
        run_id=UUID(int=2),
        result_id=UUID(int=3),
        case_id=UUID(int=1),
        assertion_results=results,
        error=error,
        started_at=AT,
        finished_at=AT,
    )


def seen(*statuses: ResultStatus) -> list[AttemptOutcome]:
    return [AttemptOutcome(s, {P: 100, F: 0}.get(s), {P: 100, F: 0}.get(s)) for s in statuses]


PASSED, FAILED, PENDING = (
    result(0, Verdict.PASSED),
    result(0, Verdict.FAILED),
    result(1, Verdict.PENDING),
)


def test_an_error_ends_the_result_and_is_not_retried() -> None:
    down = CaseError(code="down", message="немає", blame=Blame.PROVIDER)
    step = after_execution(snapshot(), report(error=down), [], plan(retries=3))
    assert isinstance(step, Final)
    assert (step.status, step.verdict.error, step.deciding, step.flaky) == (E, down, 1, False)


def test_a_decided_attempt_ends_the_result() -> None:
    step = after_execution(snapshot(), report(PASSED), [], plan())
    assert isinstance(step, Final)
    assert (step.status, step.verdict.score, step.verdict.score_min, step.verdict.score_max) == (
        P,
        100,
        100,
        100,
    )


def test_pending_criteria_go_to_the_judge() -> None:
    assert after_execution(snapshot(), report(PASSED, PENDING), [], plan()) == AskJudge((PENDING,))


def test_by_default_a_lost_case_is_judged_as_well() -> None:
    assert isinstance(after_execution(snapshot(), report(FAILED, PENDING), [], plan()), AskJudge)


def test_under_undecided_a_lost_case_ends_with_an_interval() -> None:
    step = after_execution(snapshot(), report(FAILED, PENDING), [], plan(policy="undecided"))
    assert isinstance(step, Final)
    assert (step.status, step.verdict.score) == (F, None)
    assert (step.verdict.score_min, step.verdict.score_max) == (0, 50)


def test_under_undecided_a_case_that_can_still_pass_is_judged() -> None:
    lenient = snapshot(threshold=50)
    assert isinstance(
        after_execution(lenient, report(FAILED, PENDING), [], plan(policy="undecided")), AskJudge
    )


def test_under_undecided_a_failed_required_check_is_enough() -> None:
    required = result(0, Verdict.FAILED, required=True)
    lenient = snapshot(threshold=10)
    step = after_execution(lenient, report(required, PENDING), [], plan(policy="undecided"))
    assert isinstance(step, Final)
    assert step.status is F


@pytest.mark.parametrize(("threshold", "status"), [(50, P), (51, E)])
def test_without_a_judge_its_criteria_are_undecided(threshold: int, status: ResultStatus) -> None:
    step = after_execution(snapshot(threshold=threshold), report(PASSED, PENDING), [], plan(judge=False))
    assert isinstance(step, Final)
    assert step.status is status
    if step.verdict.error is not None:
        assert "judge_missing" in step.verdict.error.message


@pytest.mark.parametrize(
    ("policy", "retries", "before", "now", "wanted"),
    [
        ("any", 2, [], FAILED, None),
        ("any", 2, [F], FAILED, None),
        ("any", 2, [F, F], FAILED, (F, False, 3)),
        ("any", 2, [F], PASSED, (P, True, 2)),
        ("any", 2, [], PASSED, (P, False, 1)),
        ("any", 0, [], FAILED, (F, False, 1)),
        ("none", 2, [], FAILED, (F, False, 1)),
        ("all", 2, [], PASSED, None),
        ("all", 2, [P], FAILED, None),
        ("all", 2, [P, P], PASSED, (P, False, 3)),
        ("all", 2, [P, F], PASSED, (F, True, 2)),
        ("all", 2, [F, F], FAILED, (F, False, 1)),
    ],
)
def test_retries(
    policy: str,
    retries: int,
    before: Sequence[ResultStatus],
    now: AssertionResult,
    wanted: tuple[ResultStatus, bool, int] | None,
) -> None:
    case = snapshot(retryPolicy=policy)
    step = after_execution(case, report(now), seen(*before), plan(retries=retries))
    if wanted is None:
        assert isinstance(step, Retry)
        assert step.outcome.status is (P if now is PASSED else F)
    else:
        assert isinstance(step, Final)
        assert (step.status, step.flaky, step.deciding) == wanted


def test_an_error_on_a_retry_leaves_what_was_graded_with_its_points() -> None:
    before = [AttemptOutcome(F, None, 20, 60, needs_review=True)]
    down = CaseError(code="down", message="немає", blame=Blame.PROVIDER)
    step = after_execution(snapshot(), report(error=down), before, plan(retries=2))
    assert isinstance(step, Final)
    assert (step.status, step.deciding, step.outcome.status) == (F, 1, E)
    verdict = step.verdict
    assert (verdict.score, verdict.score_min, verdict.score_max) == (None, 20, 60)
    assert verdict.tags == (Tag.NEEDS_REVIEW,)
    assert verdict.error is None


def test_an_earlier_failure_explains_a_result_whose_attempts_must_all_pass() -> None:
    before = [AttemptOutcome(P, 100, 100, 100), AttemptOutcome(F, 40, 40, 40)]
    step = after_execution(snapshot(retryPolicy="all"), report(PASSED), before, plan(retries=2))
    assert isinstance(step, Final)
    assert (step.status, step.deciding, step.verdict.score) == (F, 2, 40)


def test_what_the_judge_said_takes_its_place() -> None:
    step = after_judging(snapshot(), (PASSED, PENDING), (result(1, Verdict.FAILED),), [], plan())
    assert isinstance(step, Final)
    assert (step.status, step.verdict.score) == (F, 50)
    step = after_judging(snapshot(), (PASSED, PENDING), (result(1, Verdict.FAILED),), [], plan(retries=1))
    assert isinstance(step, Retry)


def test_a_judge_that_gave_no_answer_never_lets_a_case_pass() -> None:
    step = after_judging(snapshot(), (PASSED, PENDING), (), [], plan())
    assert isinstance(step, Final)
    assert (step.status, step.verdict.score_min, step.verdict.score_max) == (E, 50, 100)
    assert step.verdict.error is not None
    assert step.verdict.error.code == "inconclusive"


def test_a_judge_cannot_change_what_a_check_has_decided() -> None:
    [check, criterion] = merged(
        (FAILED, PENDING), (result(0, Verdict.PASSED), result(1, Verdict.PASSED)), plan()
    )
    assert (check.verdict, criterion.verdict) == (Verdict.FAILED, Verdict.PASSED)


def test_an_attack_on_the_judge_is_remembered_with_its_attempt() -> None:
    vote = JudgeVote(verdict="fail", injection_attempt=True)
    attacked = result(1, Verdict.FAILED, votes=(vote,))
    step = after_judging(snapshot(), (PASSED, PENDING), (attacked,), [], plan(retries=1))
    assert isinstance(step, Retry)
    assert step.outcome.needs_review


@pytest.mark.parametrize(
    ("policy", "before", "wanted"),
    [
        ("any", [F], (F, False, 1)),
        ("any", [F, F], (F, False, 2)),
        ("all", [F], (F, False, 1)),
        ("all", [P, F], (F, True, 2)),
        ("all", [P], (E, False, 1)),
        ("all", [P, P], (E, False, 2)),
    ],
)
def test_without_money_for_another_attempt_what_was_seen_is_the_answer(
    policy: str, before: Sequence[ResultStatus], wanted: tuple[ResultStatus, bool, int]
) -> None:
    step = cut_short(snapshot(retryPolicy=policy), seen(*before), error=BROKE)
    assert (step.status, step.flaky, step.deciding) == wanted
    assert step.verdict.error == (BROKE if step.status is E else None)
