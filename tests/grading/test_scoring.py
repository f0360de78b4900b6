from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.enums import Blame, ResultStatus
from proctor_contracts.results import AssertionResult, JudgeVote, Verdict
from proctor_grading.scoring import best_possible, decide, evaluation, half_up, score, skip_judge
from tests.grading.build import result

T, F, U = "passed", "failed", "unresolved"


def results(*pairs: tuple[str, int]) -> list[AssertionResult]:
    return [result(verdict, weight) for verdict, weight in pairs]


@pytest.mark.parametrize(
    ("num", "den", "rounded"),
    [(100, 8, 13), (500, 8, 63), (100, 200, 1), (100, 40, 3), (0, 7, 0), (700, 7, 100)],
)
def test_halves_round_up(num: int, den: int, rounded: int) -> None:
    assert half_up(num, den) == rounded


@pytest.mark.parametrize(
    ("pairs", "threshold", "status", "low", "high"),
    [
        ([(T, 1), (U, 2)], 70, "error", 33, 100),
        ([(T, 1), (F, 2), (U, 1)], 80, "failed", 25, 50),
        ([(T, 3), (U, 1)], 70, "passed", 75, 100),
        ([], 70, "error", None, None),
        ([(T, 1), (F, 2)], 80, "failed", 33, 33),
        ([(T, 5), (F, 3)], 63, "passed", 63, 63),
        ([(T, 1), (F, 7)], 13, "passed", 13, 13),
    ],
)
def test_the_interval_decides(
    pairs: list[tuple[str, int]], threshold: int, status: str, low: int | None, high: int | None
) -> None:
    verdict = decide(results(*pairs), threshold)
    assert (verdict.status, verdict.score_min, verdict.score_max) == (status, low, high)
    assert verdict.score == (low if low == high else None)


def test_an_undecided_threshold_is_inconclusive_and_needs_review() -> None:
    verdict = decide([result(T), result(U, 2, kind="judge", code="judge_error")], 70)
    assert verdict.error is not None
    assert (verdict.error.code, verdict.error.blame) == ("inconclusive", Blame.JUDGE)
    assert "judge_error" in verdict.error.message
    assert verdict.tags == ("needs_review",)


def test_nothing_that_applies_is_an_error_never_full_marks() -> None:
    verdict = decide([result("not_applicable")], 70)
    assert verdict.status is ResultStatus.ERROR
    assert verdict.error is not None
    assert verdict.error.code == "nothing_to_grade"
    assert verdict.score is None


def test_what_is_not_applicable_leaves_both_sides_of_the_fraction() -> None:
    assert score([result(T), result("not_applicable", 9)]).exact == 100


def test_a_failed_required_check_fails_whatever_the_score() -> None:
    verdict = decide([result(T, 99), result(F, required=True)], 70)
    assert (verdict.status, verdict.score) == (ResultStatus.FAILED, 99)
    both = decide([result(T, 99), result(F, required=True), result(U, required=True)], 70)
    assert both.status is ResultStatus.FAILED


def test_an_undecided_required_check_is_inconclusive_whatever_the_score() -> None:
    assert decide([result(T, 99), result(U, required=True)], 70).status is ResultStatus.ERROR
    assert decide([result(F, 99), result(U, required=True)], 70).status is ResultStatus.ERROR


def test_a_required_check_without_weight_only_vetoes() -> None:
    assert decide([result(T), result(T, 0, required=True)], 70).score == 100
    assert decide([result(T), result(F, 0, required=True)], 70).status is ResultStatus.FAILED
    assert decide([result(F), result(T, 0, required=True)], 70).score == 0


def test_a_pending_judge_counts_as_undecided() -> None:
    assert decide([result(T), result("pending", kind="judge")], 70).status is ResultStatus.ERROR


def test_the_judge_is_spared_only_where_the_case_is_lost() -> None:
    judge = result("pending", kind="judge")
    assert best_possible([result(T), judge], 70) is None
    assert best_possible([result(T, 9), judge], 70) is None
    lost = best_possible([result(F, 3), judge], 70)
    assert lost is not None
    assert (lost.status, lost.score, lost.score_min, lost.score_max) == (ResultStatus.FAILED, None, 0, 25)
    assert best_possible([result(F, required=True), result(T, 9), judge], 70) is not None
    skipped = skip_judge([result(F, 3), judge])
    assert [(one.verdict, one.code) for one in skipped] == [
        (Verdict.FAILED, None),
        (Verdict.UNRESOLVED, "judge_skipped"),
    ]


def test_an_injection_attempt_asks_for_review_and_changes_no_verdict() -> None:
    voted = result(T, kind="judge", votes=(JudgeVote(verdict="pass", injection_attempt=True),))
    verdict = decide([voted], 70)
    assert (verdict.status, verdict.tags) == (ResultStatus.PASSED, ("needs_review",))


def test_the_evaluation_has_one_line_per_assertion() -> None:
    graded = [
        result(T),
        result(F, kind="not_contains", ref="forbid-obsiag", message="must not occur"),
        result(U, kind="judge", code="judge_error", message="no verdict"),
    ]
    described = evaluation(graded, decide(graded, 90))
    assert [(line.name, line.score) for line in described.criteria] == [
        ("contains [-]", 100),
        ("not_contains [forbid-obsiag]", 0),
        ("judge [-]", None),
    ]
    assert described.criteria[1].comment == "must not occur"
    assert described.passed is False
    assert (described.score_min, described.score_max) == (33, 67)
    assert "not_contains [forbid-obsiag]: must not occur" in described.reasoning
    assert described.suggestions


def test_a_clean_evaluation_reads_as_in_the_first_product() -> None:
    described = evaluation([result(T)], decide([result(T)], 70))
    assert (described.score, described.passed, described.reasoning) == (100, True, "All assertions passed")
    assert described.criteria[0].comment == "ok"
    assert described.suggestions == ()


def test_a_long_list_of_failures_is_cut_short() -> None:
    graded = [result(F, message="ні")] * 12
    assert evaluation(graded, decide(graded, 70)).reasoning.endswith("; and 2 more")


VERDICTS = st.sampled_from([Verdict.PASSED, Verdict.FAILED, Verdict.UNRESOLVED, Verdict.NOT_APPLICABLE])
GRADED = st.lists(st.builds(result, VERDICTS, st.integers(1, 20)), max_size=12)


@given(GRADED)
def test_an_interval_lies_in_the_scale_and_closes_without_doubt(graded: list[AssertionResult]) -> None:
    points = score(graded)
    if points.worst is None or points.best is None:
        assert points.weight == 0
        return
    assert 0 <= points.worst <= points.best <= 100
    if not points.undecided:
        assert points.worst == points.best


@given(GRADED, st.integers(0, 20))
def test_turning_a_failure_into_a_pass_never_lowers_a_score(graded: list[AssertionResult], at: int) -> None:
    before = score(graded)
    better = [
        one.model_copy(update={"verdict": Verdict.PASSED})
        if number == at and one.verdict in {Verdict.FAILED, Verdict.UNRESOLVED}
        else one
        for number, one in enumerate(graded)
    ]
    after = score(better)
    assert (after.worst or 0) >= (before.worst or 0)
    assert (after.best or 0) >= (before.best or 0)


@given(GRADED, st.integers(0, 100))
def test_an_interval_holds_every_score_its_doubts_may_become(
    graded: list[AssertionResult], bits: int
) -> None:
    points = score(graded)
    settled = [
        one.model_copy(update={"verdict": Verdict.PASSED if bits >> number & 1 else Verdict.FAILED})
        if one.verdict is Verdict.UNRESOLVED
        else one
        for number, one in enumerate(graded)
    ]
    exact = score(settled).exact
    if exact is not None:
        assert points.worst is not None
        assert points.best is not None
        assert points.worst <= exact <= points.best


@given(GRADED, st.integers(0, 100))
def test_a_decision_never_depends_on_how_a_doubt_would_end(
    graded: list[AssertionResult], threshold: int
) -> None:
    verdict = decide(graded, threshold)
    for settled in (Verdict.PASSED, Verdict.FAILED):
        other = decide(
            [
                one.model_copy(update={"verdict": settled}) if one.verdict is Verdict.UNRESOLVED else one
                for one in graded
            ],
            threshold,
        )
        if verdict.status in {ResultStatus.PASSED, ResultStatus.FAILED}:
            assert other.status is verdict.status
