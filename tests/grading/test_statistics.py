from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.statistics import (
    Z_80,
    Z_95,
    Z_975,
    clopper_pearson,
    clustered,
    half_up,
    mean_interval,
    minimum_detectable,
    percentile,
    t_quantile,
    wilson,
)

NEAR = 1e-6


def near(value: Any) -> Any:
    return pytest.approx(value, abs=NEAR)


@pytest.mark.parametrize(
    ("k", "n", "score", "exact"),
    [
        (0, 1, (0, 0.793451), (0, 0.975000)),
        (1, 1, (0.206549, 1), (0.025000, 1)),
        (5, 10, (0.236593, 0.763407), (0.187086, 0.812914)),
        (9, 10, (0.595850, 0.982124), (0.554984, 0.997471)),
        (18, 20, (0.698966, 0.972134), (0.683017, 0.987651)),
        (20, 20, (0.838875, 1), (0.831567, 1)),
        (0, 20, (0, 0.161125), (0, 0.168433)),
        (47, 50, (0.837829, 0.979385), (0.834518, 0.987451)),
        (138, 154, (0.837896, 0.935031), (0.836766, 0.939438)),
        (100, 100, (0.963007, 1), (0.963783, 1)),
    ],
)
def test_intervals_of_a_pass_rate(
    k: int, n: int, score: tuple[float, float], exact: tuple[float, float]
) -> None:
    assert wilson(k, n) == near(score)
    assert clopper_pearson(k, n) == near(exact)


def test_nothing_seen_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    assert clustered([]) is None
    assert clustered([(0, 0)]) is None
    assert mean_interval([]) is None
    assert percentile([], 95) is None
    assert minimum_detectable(1, 0) is None


@pytest.mark.parametrize(
    ("share", "score", "exact"), [(0.8, 16, 17), (0.9, 35, 36), (0.95, 73, 72), (0.99, 381, 368)]
)
def test_how_many_clean_cases_prove_a_rate(share: float, score: int, exact: int) -> None:
    assert wilson(score, score)[0] >= share > wilson(score - 1, score - 1)[0]
    assert clopper_pearson(exact, exact)[0] >= share > clopper_pearson(exact - 1, exact - 1)[0]


def of(cases: str) -> list[tuple[int, int]]:
    return [(case.count("1"), len(case)) for case in cases.split()]


@pytest.mark.parametrize(
    ("cases", "rate", "se", "effective", "interval"),
    [
        ("111 101 000 110", 0.583333, 0.209718, 5.526316, (0.231611, 0.866711)),
        ("11 00 10 11 11", 0.7, 0.200000, 5.25, (0.305858, 0.925128)),
        ("110 1 00 1111", 0.7, 0.216025, 4.5, (0.283559, 0.932231)),
        ("111 111 111 111", 1, 0, 4, (0.510109, 1)),
    ],
)
def test_trials_of_one_case_are_alike(
    cases: str, rate: float, se: float, effective: float, interval: tuple[float, float]
) -> None:
    estimate = clustered(of(cases))
    assert estimate is not None
    assert estimate.rate == near(rate)
    assert estimate.se == near(se)
    assert estimate.effective_n == near(effective)
    assert estimate.interval == near(interval)


def test_one_case_alone_has_no_error_rather_than_none() -> None:
    estimate = clustered([(2, 3)])
    assert estimate is not None
    assert estimate.se is None
    assert estimate.interval[0] < 2 / 3 < estimate.interval[1]


@pytest.mark.parametrize(
    ("values", "mean", "se", "interval"),
    [
        ([100, 80, 60, 100], 85, 9.574271, (54.530396, 115.469604)),
        ([100, 100, 90, 70, 85, 100, 100, 60, 100, 95], 90, 4.533824, (79.743779, 100.256221)),
        ([-1] * 10 + [1] * 3 + [0] * 37, -0.14, 0.070044, (-0.280758, 0.000758)),
    ],
)
def test_a_mean_has_a_t_interval(
    values: list[float], mean: float, se: float, interval: tuple[float, float]
) -> None:
    estimate = mean_interval(values)
    assert estimate is not None
    assert (estimate.mean, estimate.se) == (near(mean), near(se))
    assert estimate.interval == near(interval)


def test_one_value_has_no_interval_and_equal_values_a_flagged_one() -> None:
    one = mean_interval([70])
    assert one is not None
    assert (one.se, one.interval) == (None, None)
    same = mean_interval([70, 70, 70])
    assert same is not None
    assert (same.interval, same.zero_variance) == ((70.0, 70.0), True)


def test_t_quantiles() -> None:
    assert t_quantile(0.975, 1) == near(12.706204736)
    assert t_quantile(0.975, 9) == near(2.262157163)
    assert t_quantile(0.95, 6) * (1 + 1 / 7) ** 0.5 == near(2.077347)
    assert t_quantile(0.95, 2) * (1 + 1 / 3) ** 0.5 == near(3.371709)
    assert t_quantile(0.025, 9) == near(-2.262157163)
    assert t_quantile(0.5, 3) == 0
    assert t_quantile(0.975, 100_000) == pytest.approx(Z_975, abs=1e-4)


def test_constants() -> None:
    assert near(7.848879734349) == (Z_975 + Z_80) ** 2
    assert near(6.182557232020) == (Z_95 + Z_80) ** 2


@pytest.mark.parametrize(("sd", "n", "expected"), [(0.4, 50, 0.158482), (0.5, 20, 0.313227)])
def test_the_smallest_difference_that_n_pairs_show(sd: float, n: int, expected: float) -> None:
    assert minimum_detectable(sd, n) == near(expected)


@pytest.mark.parametrize(
    ("values", "q", "expected"),
    [
        ([100, 200, 300, 400, 500], 50, 300),
        ([500, 400, 300, 200, 100], 95, 500),
        (list(range(100, 2001, 100)), 50, 1000),
        (list(range(100, 2001, 100)), 95, 1900),
        (list(range(100, 2001, 100)), 99, 2000),
        ([7], 50, 7),
        ([7], 0, 7),
    ],
)
def test_percentiles_are_nearest_rank(values: list[int], q: int, expected: int) -> None:
    assert percentile(values, q) == expected


COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS)
def test_an_interval_holds_its_rate_and_mirrors(counts: tuple[int, int]) -> None:
    k, n = counts
    for interval in (wilson, clopper_pearson):
        low, high = interval(k, n)
        assert 0 <= low <= k / n <= high <= 1
        mirrored = interval(n - k, n)
        assert (1 - mirrored[1], 1 - mirrored[0]) == (near(low), near(high))


@given(COUNTS)
def test_more_evidence_narrows_an_interval(counts: tuple[int, int]) -> None:
    k, n = counts
    low, high = wilson(k, n)
    more_low, more_high = wilson(4 * k, 4 * n)
    assert more_high - more_low <= high - low


FEW = st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.lists(FEW, min_size=1, max_size=20))
def test_an_effective_size_lies_between_cases_and_trials(cases: list[tuple[int, int]]) -> None:
    estimate = clustered(cases)
    assert estimate is not None
    assert len(cases) - NEAR <= estimate.effective_n <= sum(n for _, n in cases) + NEAR
    assert 0 <= estimate.interval[0] <= estimate.interval[1] <= 1


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_rounding_is_never_off_by_more_than_a_half(num: int, den: int) -> None:
    assert abs(2 * (half_up(num, den) * den - num)) <= den
