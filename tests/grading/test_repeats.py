from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.repeats import (
    Stability,
    failure_bound,
    flagged_flaky,
    instability,
    mean_pass_rates,
    pass_all,
    pass_any,
    passed_after_retries,
    quarantine,
    stability,
)


def near(value: float | None) -> object:
    return pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "c", "k", "any_", "all_"),
    [
        (5, 3, 1, 0.6, 0.6),
        (5, 3, 2, 0.9, 0.3),
        (5, 3, 3, 1, 0.1),
        (10, 7, 3, 0.9916667, 0.2916667),
        (4, 2, 2, 0.8333333, 0.1666667),
        (10, 9, 5, 1, 0.5),
        (8, 8, 4, 1, 1),
        (8, 0, 4, 0, 0),
        (20, 18, 8, 1, 0.3473684),
    ],
)
def test_passing_any_or_all_of_k(n: int, c: int, k: int, any_: float, all_: float) -> None:
    assert pass_any(n, c, k) == near(any_)
    assert pass_all(n, c, k) == near(all_)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 2, 4), (3, 2, 0), (0, 0, 1)])
def test_too_few_trials_say_nothing(n: int, c: int, k: int) -> None:
    assert pass_any(n, c, k) is None
    assert pass_all(n, c, k) is None


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_both_count_what_drawing_k_trials_counts(trials: list[bool], k: int) -> None:
    drawn = list(combinations(trials, k))
    n, c = len(trials), sum(trials)
    assert pass_any(n, c, k) == (near(sum(map(any, drawn)) / len(drawn)) if drawn else None)
    assert pass_all(n, c, k) == (near(sum(map(all, drawn)) / len(drawn)) if drawn else None)


def test_a_suite_is_the_mean_over_cases_with_enough_trials() -> None:
    rates = mean_pass_rates([(3, 5), (5, 5), (1, 1), (0, 0)], 2)
    assert rates is not None
    assert (rates.k, rates.cases, rates.excluded) == (2, 2, 1)
    assert (rates.any_of_k, rates.all_of_k) == (near((0.9 + 1) / 2), near((0.3 + 1) / 2))
    assert mean_pass_rates([(1, 1)], 2) is None
    assert mean_pass_rates([], 1) is None


@pytest.mark.parametrize(
    ("n", "c", "d"),
    [(2, 1, 1), (5, 4, 0.4), (8, 7, 0.25), (8, 4, 0.571429), (8, 8, 0), (1, 1, None), (0, 0, None)],
)
def test_instability(n: int, c: int, d: float | None) -> None:
    assert instability(n, c) == (None if d is None else near(d))


@given(st.lists(st.booleans(), min_size=2, max_size=9))
def test_instability_is_how_often_two_trials_disagree(trials: list[bool]) -> None:
    pairs = list(combinations(trials, 2))
    assert instability(len(trials), sum(trials)) == near(sum(a != b for a, b in pairs) / len(pairs))


@pytest.mark.parametrize(
    ("n", "c", "found"),
    [
        (4, 2, Stability.UNKNOWN),
        (4, 4, Stability.UNKNOWN),
        (5, 5, Stability.STABLE_PASS),
        (5, 0, Stability.STABLE_FAIL),
        (5, 4, Stability.FLAKY),
    ],
)
def test_a_history_has_a_class(n: int, c: int, found: Stability) -> None:
    assert stability(n, c) is found


def test_quarantine_is_proposed_for_the_unstable_and_never_for_critical_cases() -> None:
    assert quarantine(8, 7)
    assert not quarantine(8, 7, critical=True)
    assert not quarantine(20, 19)
    assert not quarantine(2, 1)
    assert not quarantine(8, 0)


@pytest.mark.parametrize(
    ("p", "retries", "passed", "flagged"),
    [
        (0.5, 2, 0.875, 0.375),
        (0.6, 2, 0.936, 0.336),
        (0.9, 2, 0.999, 0.099),
        (0.8, 1, 0.96, 0.16),
        (0.99, 5, 1.0, 0.01),
    ],
)
def test_what_retries_hide(p: float, retries: int, passed: float, flagged: float) -> None:
    assert passed_after_retries(p, retries) == pytest.approx(passed, abs=1e-6)
    assert flagged_flaky(p, retries) == pytest.approx(flagged, abs=1e-6)


def test_passing_always_is_weak_evidence() -> None:
    assert failure_bound(7) == near(0.348164)
    assert failure_bound(20) == near(0.139108)
    assert failure_bound(0) == 1
