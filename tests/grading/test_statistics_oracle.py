"""Every formula beside scipy's and statsmodels', where these are (`pip install -e '.[stats-check]'`)."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from proctor_grading.comparison import mcnemar, sign_flip
from proctor_grading.corrections import benjamini_hochberg, holm
from proctor_grading.exchange import CaseScores, lower_tail
from proctor_grading.power import mcnemar_power
from proctor_grading.repeats import pass_all, pass_any
from proctor_grading.statistics import clopper_pearson, mean_interval, t_quantile, wilson

WHY = "the cross-check is optional: pip install -e '.[stats-check]'"
NEAR = 1e-8
SIZES = (1, 2, 7, 20, 154, 1_000)


@pytest.fixture(scope="module")
def stats() -> Any:
    return pytest.importorskip("scipy.stats", reason=WHY)


@pytest.fixture(scope="module")
def models() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("statsmodels.stats.api", reason=WHY)


def near(value: Any) -> Any:
    return pytest.approx(value, abs=NEAR)


def test_intervals_of_rates(models: Any) -> None:
    for n in SIZES:
        for k in sorted({0, 1, n // 3, n - 1, n}):
            exact = models.proportion_confint(k, n, method="beta")
            score = models.proportion_confint(k, n, method="wilson")
            assert clopper_pearson(k, n) == near((0.0 if k == 0 else exact[0], 1.0 if k == n else exact[1]))
            assert wilson(k, n) == near((0.0 if k == 0 else score[0], 1.0 if k == n else score[1]))


def test_t_quantiles(stats: Any) -> None:
    for df in (1, 2, 3, 9, 153, 5_000):
        for p in (0.025, 0.2, 0.5, 0.9, 0.975, 0.9995):
            assert t_quantile(p, df) == pytest.approx(float(stats.t.ppf(p, df)), rel=1e-8)


def test_t_intervals(stats: Any) -> None:
    source = random.Random(1)
    for n in (2, 5, 60):
        values = [source.randrange(101) for _ in range(n)]
        found = mean_interval(values)
        assert found is not None
        assert found.se == near(stats.sem(values))
        assert found.interval == near(stats.t.interval(0.95, n - 1, found.mean, found.se))


def test_mcnemar(stats: Any) -> None:
    for b in range(12):
        for c in range(12):
            if b + c == 0:
                continue
            exact = stats.binomtest(b, b + c).pvalue
            assert mcnemar(b, c).exact == near(exact)
            assert mcnemar(b, c).mid_p == near(
                1 - stats.binom.pmf(b, b + c, 0.5) / 2 if b == c else exact - stats.binom.pmf(b, b + c, 0.5)
            )


def test_sign_flips(stats: Any) -> None:
    source = random.Random(2)
    for _ in range(10):
        values = [source.randrange(-30, 40) for _ in range(11)]
        found = stats.permutation_test(
            (values,), sum, permutation_type="samples", n_resamples=float("inf"), vectorized=False
        )
        # scipy doubles the smaller tail; the distribution is symmetric, so that is the same.
        assert sign_flip(values) == near(min(1.0, float(found.pvalue)))


def test_corrections(models: Any) -> None:
    source = random.Random(3)
    for size in (1, 2, 9, 40):
        p_values = [source.random() ** 3 for _ in range(size)]
        assert holm(p_values) == near(list(models.multipletests(p_values, method="holm")[1]))
        assert benjamini_hochberg(p_values) == near(list(models.multipletests(p_values, method="fdr_bh")[1]))


def test_draws_without_replacement(stats: Any) -> None:
    for n, c, k in ((5, 3, 2), (10, 7, 3), (20, 18, 8)):
        assert pass_any(n, c, k) == near(stats.hypergeom.sf(0, n, c, k))
        assert pass_all(n, c, k) == near(stats.hypergeom.pmf(k, n, c, k))


def test_a_rerun_of_one_case_is_hypergeometric(stats: Any) -> None:
    for passes in range(8):
        for now in range(4):
            before = (1,) * passes + (0,) * (7 - passes)
            scores = (1,) * now + (0,) * (3 - now)
            expected = stats.hypergeom.cdf(now, 10, passes + now, 3)
            assert lower_tail([CaseScores(before, scores)]) == near(expected)


def test_like_cases_fail_binomially(stats: Any) -> None:
    cases = [CaseScores((1,) * 6 + (0,), (0,))] * 6 + [CaseScores((1,) * 7, (1,))] * 9
    assert lower_tail(cases) == near(stats.binom.sf(5, 6, 2 / 8))


def test_the_power_of_a_plan(stats: Any) -> None:
    expected = sum(
        stats.multinomial.pmf((b, c, 30 - b - c), 30, (0.3, 0.05, 0.65))
        for b in range(31)
        for c in range(31 - b)
        if b > c and mcnemar(b, c).mid_p <= 0.05
    )
    assert mcnemar_power(30, worse=0.3, better=0.05) == near(expected)
