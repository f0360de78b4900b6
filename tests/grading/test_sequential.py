from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.verdicts import ComparisonVerdict
from proctor_grading.sequential import Pairs, Plan, confidence_sequence, evidence, look

PLAN = Plan(max_pairs=160)


def beta(a: int, b: int) -> float:
    return math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))


@pytest.mark.parametrize(("worse", "better"), [(0, 0), (1, 0), (3, 1), (9, 2), (30, 30), (80, 20)])
def test_the_evidence_is_the_likelihood_of_any_share_against_a_half(worse: int, better: int) -> None:
    expected = 2 ** (worse + better) * beta(worse + 1, better + 1) / beta(1, 1)
    assert evidence(Pairs(worse=worse, better=better, same=5)) == pytest.approx(expected)


def test_evidence_against_no_difference_averages_to_one() -> None:
    # Over all orders of n coin flips the mean is exactly 1, which is why one may look after every pair.
    for n in (1, 5, 40):
        mean = sum(
            math.comb(n, k) / 2**n * evidence(Pairs(worse=k, better=n - k, same=0)) for k in range(n + 1)
        )
        assert mean == pytest.approx(1)


def test_so_many_pairs_that_no_float_holds_the_number_are_no_trouble() -> None:
    assert evidence(Pairs(worse=5_000, better=0, same=0)) == math.inf
    assert evidence(Pairs(worse=5_000, better=5_000, same=0)) < 0.1


@pytest.mark.parametrize(
    ("worse", "better", "verdict"),
    [
        (7, 0, None),  # 2**7 / 8 = 16
        (8, 0, ComparisonVerdict.WORSE),  # 2**8 / 9 = 28.4
        (0, 8, ComparisonVerdict.BETTER),
        (8, 1, None),  # 2**9 / 90 = 5.7
        (12, 1, ComparisonVerdict.WORSE),
        (20, 20, None),
    ],
)
def test_a_look_decides_once_the_evidence_is_twenty_to_one(
    worse: int, better: int, verdict: ComparisonVerdict | None
) -> None:
    assert look(PLAN, Pairs(worse=worse, better=better, same=30)).verdict is verdict


def test_a_smaller_error_level_asks_for_more() -> None:
    strict = Plan(max_pairs=160, alpha=0.01)
    assert look(strict, Pairs(worse=8, better=0, same=0)).verdict is None
    assert look(strict, Pairs(worse=11, better=0, same=0)).verdict is ComparisonVerdict.WORSE


def test_the_limit_leaves_it_undecided() -> None:
    assert look(PLAN, Pairs(worse=3, better=2, same=154)).verdict is None
    assert look(PLAN, Pairs(worse=3, better=2, same=155)).verdict is ComparisonVerdict.UNDECIDED
    assert look(PLAN, Pairs(worse=8, better=0, same=152)).verdict is ComparisonVerdict.WORSE


def test_agreement_is_told_apart_from_knowing_nothing() -> None:
    plan = Plan(max_pairs=1_000, min_detectable=0.1)
    assert look(plan, Pairs(worse=0, better=0, same=20)).verdict is None
    found = look(plan, Pairs(worse=2, better=2, same=116))
    assert found.verdict is ComparisonVerdict.NO_DIFFERENCE
    assert -0.1 < found.interval[0] < 0 < found.interval[1] < 0.1
    assert look(PLAN, Pairs(worse=2, better=2, same=116)).verdict is None


def test_a_look_says_what_it_saw() -> None:
    found = look(PLAN, Pairs(worse=12, better=1, same=30))
    assert found.pairs == 43
    assert found.difference == pytest.approx(-11 / 43)
    assert found.interval[0] < -11 / 43 < found.interval[1] < 0
    nothing = look(PLAN, Pairs())
    assert (nothing.verdict, nothing.difference, nothing.interval) == (None, None, (-1.0, 1.0))


COUNTS = st.builds(Pairs, worse=st.integers(0, 60), better=st.integers(0, 60), same=st.integers(0, 200))


@given(COUNTS)
def test_the_sequence_holds_the_difference_and_mirrors(pairs: Pairs) -> None:
    low, high = confidence_sequence(pairs, alpha=0.05)
    assert -1 <= low <= high <= 1
    if pairs.total:
        assert low <= pairs.difference <= high
    mirrored = confidence_sequence(Pairs(worse=pairs.better, better=pairs.worse, same=pairs.same), alpha=0.05)
    assert (-mirrored[1], -mirrored[0]) == pytest.approx((low, high), abs=1e-9)


@given(COUNTS)
def test_no_difference_is_said_exactly_when_the_sequence_lies_inside(pairs: Pairs) -> None:
    low, high = confidence_sequence(pairs, alpha=0.05)
    verdict = look(Plan(max_pairs=10_000, min_detectable=0.2), pairs).verdict
    if verdict in {None, ComparisonVerdict.NO_DIFFERENCE}:
        assert (verdict is ComparisonVerdict.NO_DIFFERENCE) == (low > -0.2 and high < 0.2)


def test_looking_after_every_pair_keeps_the_error_level() -> None:
    source = random.Random(17)
    wrong = missed = 0
    for _ in range(300):
        pairs = Pairs()
        out = False
        while pairs.total < 120:
            pairs = pairs.seen(a=source.random() < 0.9, b=source.random() < 0.9)
            out = out or evidence(pairs) >= 20
        wrong += out
        low, high = confidence_sequence(pairs, alpha=0.05)
        missed += not low <= 0 <= high
    assert wrong <= 15
    assert missed <= 15


def test_a_plan_is_checked() -> None:
    with pytest.raises(ValueError, match="max_pairs must"):
        Plan(max_pairs=0)
    with pytest.raises(ValueError, match="alpha must"):
        Plan(max_pairs=10, alpha=0)
    with pytest.raises(ValueError, match="min_detectable must"):
        Plan(max_pairs=10, min_detectable=1.5)
