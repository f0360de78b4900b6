from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.diff import CaseChange, RunDiff
from proctor_grading.diff import diff
from proctor_grading.rows import ResultRow
from tests.grading.rows import row

A, B = UUID(int=1001), UUID(int=1002)


def compare(before: list[ResultRow], after: list[ResultRow]) -> RunDiff:
    return diff(A, B, before, after)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("failed", "passed", "fixed"),
        ("passed", "failed", "broken"),
        ("failed", "failed", "still_failing"),
        ("passed", "passed", "still_passing"),
        ("error", "passed", "fixed"),
        ("cancelled", "passed", "fixed"),
        ("error", "failed", "still_failing"),
        ("error", "error", "errored"),
        ("failed", "error", "errored"),
        ("passed", "error", "errored"),
        ("passed", "cancelled", "errored"),
    ],
)
def test_a_case_changes(before: str, after: str, change: str) -> None:
    found = compare([row(1, before)], [row(1, after)])
    assert found.counts == {change: 1}
    case = found.cases[0]
    assert (case.change, case.status_a, case.status_b, case.case_ref) == (change, before, after, "RM-1")


def test_cases_of_one_run_only_are_named() -> None:
    found = compare([row(1, "passed"), row(2, "passed")], [row(2, "passed"), row(3, "failed")])
    changes = {case.case_ref: case.change for case in found.cases}
    assert changes == {
        "RM-1": CaseChange.ONLY_IN_A,
        "RM-2": CaseChange.STILL_PASSING,
        "RM-3": CaseChange.ONLY_IN_B,
    }
    assert found.cases[0].status_b is None or found.cases[0].status_a is None


def test_a_case_made_anew_is_found_by_its_ref() -> None:
    found = compare([row(1, "passed")], [row(77, "failed", ref="RM-1")])
    assert found.counts == {"broken": 1}


def test_cases_without_ref_are_not_taken_for_each_other() -> None:
    found = compare([row(1, "passed", ref=None)], [row(2, "passed", ref=None)])
    assert found.counts == {"only_in_a": 1, "only_in_b": 1}


def test_a_lucky_retry_is_flaky_and_counts_as_its_first_attempt() -> None:
    found = compare([row(1, "passed")], [row(1, "passed", first_status="failed", flaky=True)])
    assert found.counts == {"flaky": 1}
    assert found.test is not None
    assert (found.test.better, found.test.worse) == (0, 1)


def test_mixed_trials_are_flaky() -> None:
    trials = [row(1, "passed", trial=1), row(1, "failed", trial=2)]
    assert compare([row(1, "passed"), row(1, "passed", trial=2)], trials).counts == {"flaky": 1}


def test_newly_broken_cases_come_first() -> None:
    before = [row(n, status) for n, status in enumerate(["failed", "passed", "failed", "passed"])]
    after = [row(n, status) for n, status in enumerate(["failed", "passed", "passed", "failed"])]
    assert [case.change.value for case in compare(before, after).cases] == [
        "broken",
        "still_failing",
        "fixed",
        "still_passing",
    ]


def test_single_trials_are_tested_by_mid_p() -> None:
    before = [row(n, "passed" if n < 10 else "failed") for n in range(50)]
    after = [row(n, "passed" if 10 <= n < 13 else "failed") for n in range(50)]
    test = compare(before, after).test
    assert test is not None
    assert (test.method, test.pairs, test.worse, test.better) == ("mcnemar_mid_p", 50, 10, 3)
    assert test.p_value == pytest.approx(0.057373, abs=1e-6)
    assert test.p_exact == pytest.approx(0.092285, abs=1e-6)
    assert test.mean_difference == pytest.approx(-0.14)
    assert test.ci95 == pytest.approx((-0.280758, 0.000758), abs=1e-6)


def test_several_trials_are_tested_by_flipping_signs() -> None:
    before = [row(n, "passed", trial=t) for n in range(6) for t in (1, 2)]
    after = [row(n, "passed" if t == 1 else "failed", trial=t) for n in range(6) for t in (1, 2)]
    test = compare(before, after).test
    assert test is not None
    assert test.method == "permutation"
    assert test.p_value == pytest.approx(0.03125)
    assert test.mean_difference == pytest.approx(-0.5)


def test_too_little_in_common_is_not_compared() -> None:
    before = [row(n, "passed") for n in range(10)]
    enough = compare(before, [row(n, "passed" if n < 8 else "error") for n in range(10)])
    assert (enough.comparable, enough.coverage) == (True, 0.8)
    too_few = compare(before, [row(n, "passed" if n < 7 else "error") for n in range(10)])
    assert (too_few.comparable, too_few.test) == (False, None)
    assert too_few.reason is not None
    assert "70%" in too_few.reason
    assert compare([], []).reason == "no case was graded in both runs"


def test_a_mixed_end_of_what_was_unknown_is_flaky() -> None:
    found = compare([row(1, "error")], [row(1, "passed"), row(1, "failed", trial=2)])
    assert found.counts == {"flaky": 1}


STATUSES = st.sampled_from(["passed", "failed", "error"])
RUNS = st.dictionaries(st.integers(1, 12), st.lists(STATUSES, min_size=1, max_size=3))
SWAPPED = {
    CaseChange.FIXED: CaseChange.BROKEN,
    CaseChange.BROKEN: CaseChange.FIXED,
    CaseChange.ONLY_IN_A: CaseChange.ONLY_IN_B,
    CaseChange.ONLY_IN_B: CaseChange.ONLY_IN_A,
}


def of(run: dict[int, list[str]]) -> list[ResultRow]:
    return [row(n, status, trial=t) for n, statuses in run.items() for t, status in enumerate(statuses, 1)]


@given(RUNS, RUNS)
def test_swapping_the_runs_mirrors_the_comparison(
    one: dict[int, list[str]], other: dict[int, list[str]]
) -> None:
    forth, back = compare(of(one), of(other)), diff(B, A, of(other), of(one))
    assert forth.coverage == back.coverage
    # What could not be found out has a direction: known at last is not the mirror of known no more.
    unknown = {case.case_ref for case in (*forth.cases, *back.cases) if case.change is CaseChange.ERRORED}
    mirrored = {case.case_ref: SWAPPED.get(case.change, case.change) for case in back.cases}
    assert {case.case_ref for case in forth.cases} == mirrored.keys()
    for case in forth.cases:
        assert case.case_ref in unknown or case.change is mirrored[case.case_ref]
    if forth.test and back.test:
        assert (forth.test.better, forth.test.worse) == (back.test.worse, back.test.better)
        assert forth.test.p_value == pytest.approx(back.test.p_value)
        assert forth.test.mean_difference == pytest.approx(-(back.test.mean_difference or 0))
