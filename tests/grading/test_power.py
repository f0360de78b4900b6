from __future__ import annotations

import math

import pytest

from proctor_grading.power import (
    attempts_per_case,
    cases_to_generalise,
    mcnemar_power,
    pairs_needed,
    smallest_drop,
    smallest_plan,
    trials_needed,
    unpaired_needed,
)


@pytest.mark.parametrize(
    ("variance", "attempts", "difference", "cases"),
    [
        (0, 1, 0.03, 969),
        (1 / 6, 1, 0.03, 3876),
        (1 / 6, 10, 0.03, 1260),
        (1 / 6, 1, 0.05, 1396),
        (1 / 6, 5, 0.05, 559),
    ],
)
def test_cases_to_see_a_difference_on_new_cases(
    variance: float, attempts: int, difference: float, cases: int
) -> None:
    found = cases_to_generalise(
        difference,
        between=1 / 9,
        within_a=variance,
        within_b=variance,
        attempts_a=attempts,
        attempts_b=attempts,
    )
    assert found == cases


@pytest.mark.parametrize(
    ("discordant", "difference", "pairs"),
    [(0.10, 0.05, 307), (0.15, 0.05, 464), (0.20, 0.05, 621), (0.20, 0.10, 150)],
)
def test_pairs_of_passes_and_failures(discordant: float, difference: float, pairs: int) -> None:
    assert pairs_needed(discordant, difference) == pairs


@pytest.mark.parametrize(
    ("before", "after", "arm"), [(0.9, 0.85, 683), (0.95, 0.90, 432), (0.80, 0.75, 1091)]
)
def test_separate_cases_in_each_arm(before: float, after: float, arm: int) -> None:
    assert unpaired_needed(before, after) == arm


@pytest.mark.parametrize(
    ("variance", "drop", "equal", "equal_each", "seven", "seven_each"),
    [
        (0.05, 0.05, 247.3, (13, 5, 2), 141.3, (8, 3, 1)),
        (0.05, 0.10, 61.8, (4, 2, 1), 35.3, (2, 1, 1)),
        (0.09, 0.05, 445.1, (23, 9, 3), 254.4, (13, 6, 2)),
        (0.09, 0.10, 111.3, (6, 3, 1), 63.6, (4, 2, 1)),
        (0.16, 0.05, 791.4, (40, 16, 6), 452.2, (23, 10, 3)),
    ],
)
def test_attempts_to_see_that_this_suite_got_worse(
    *,
    variance: float,
    drop: float,
    equal: float,
    equal_each: tuple[int, ...],
    seven: float,
    seven_each: tuple[int, ...],
) -> None:
    for ratio, trials, each in ((1, equal, equal_each), (7, seven, seven_each)):
        assert trials_needed(drop, variance=variance, ratio=ratio) == pytest.approx(trials, abs=0.051)
        found = tuple(attempts_per_case(n, drop, variance=variance, ratio=ratio) for n in (20, 50, 154))
        assert found == each


@pytest.mark.parametrize(("cases", "points"), [(5, 35.7), (10, 25.2), (20, 17.8), (50, 11.3), (154, 6.4)])
def test_the_smallest_drop_that_one_run_shows(cases: int, points: float) -> None:
    assert 100 * smallest_drop(cases, variance=0.09, ratio=7) == pytest.approx(points, abs=0.06)


def test_no_difference_takes_for_ever() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        pairs_needed(0.2, 0)


def test_the_power_of_a_fixed_plan_is_counted_out() -> None:
    # Six pairs, all of which only A passes: mid-p .0156; five: .03125; four: .0625.
    assert mcnemar_power(6, worse=1, better=0) == 1
    assert mcnemar_power(4, worse=1, better=0) == 0
    # Of five pairs nothing but five failures of B convinces.
    assert mcnemar_power(5, worse=0.5, better=0.1) == pytest.approx(0.5**5)
    assert mcnemar_power(20, worse=0, better=0) == 0


def test_a_fixed_plan_holds_its_level_on_either_side() -> None:
    assert 2 * mcnemar_power(100, worse=0.09, better=0.09) <= 0.05


def test_the_smallest_plan_is_the_first_of_enough_power() -> None:
    plan = smallest_plan(0.8, worse=0.27, better=0.07)
    assert mcnemar_power(plan, worse=0.27, better=0.07) >= 0.8
    assert all(mcnemar_power(n, worse=0.27, better=0.07) < 0.8 for n in range(1, plan))
    approximate = pairs_needed(0.34, 0.2)
    assert math.isclose(plan, approximate, rel_tol=0.15)
    with pytest.raises(ValueError, match="at most"):
        smallest_plan(0.8, worse=0.1, better=0.1, most=50)
