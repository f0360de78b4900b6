from __future__ import annotations

import random
import time
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.exchange import CaseScores, lower_tail


def case(passes: int, before: int, now: str = "0") -> CaseScores:
    return CaseScores((100,) * passes + (0,) * (before - passes), tuple(100 * int(one) for one in now))


STABLE = case(7, 7, "1")


@pytest.mark.parametrize(
    ("cases", "p"),
    [
        ([case(7, 7)], 0.125),
        ([case(7, 7)] * 2, 0.015625),
        ([STABLE] * 9 + [case(7, 7)], 0.125),
        ([STABLE] * 8 + [case(4, 7)] * 2, 0.25),
        ([STABLE] * 8 + [case(4, 7)] * 2 + [case(7, 7)], 0.031250),
        ([STABLE] * 5, 1),
        ([case(4, 7, "1"), case(3, 7, "1")], 1),
        ([case(6, 7)] * 6 + [case(6, 7, "1")] * 14, 0.089695),
        ([], 1),
        ([CaseScores((), (0,)), CaseScores((100,), ())], 1),
    ],
)
def test_how_likely_so_many_failures_are_if_nothing_changed(cases: list[CaseScores], p: float) -> None:
    assert lower_tail(cases) == pytest.approx(p, abs=1e-6)


def test_several_trials_of_now_are_hypergeometric() -> None:
    # 7 passes before; of 10 trials 3 failed, all of them now: 1 of C(10, 3) ways.
    assert lower_tail([case(7, 7, "000")]) == pytest.approx(1 / 120)
    # Two of three failed now: C(8, 3) = 56 draws of 10 hold neither failure, 56 one, 8 both.
    assert lower_tail([case(7, 7, "001")]) == pytest.approx(8 / 120)


SCORES = st.lists(st.integers(0, 100), min_size=1, max_size=4).map(tuple)
CASES = st.lists(st.builds(CaseScores, before=SCORES, now=SCORES.map(lambda all_: all_[:2])), max_size=3)


@given(CASES)
def test_the_exact_test_counts_what_trying_every_assignment_counts(cases: list[CaseScores]) -> None:
    ways = [[sum(drawn) for drawn in combinations([*c.before, *c.now], len(c.now))] for c in cases]
    observed = sum(sum(c.now) for c in cases)
    sums = [sum(chosen) for chosen in product(*ways)]
    assert lower_tail(cases) == pytest.approx(sum(one <= observed for one in sums) / len(sums))


@given(CASES)
def test_the_order_of_cases_and_trials_does_not_matter(cases: list[CaseScores]) -> None:
    turned = [CaseScores(c.before[::-1], c.now[::-1]) for c in reversed(cases)]
    assert lower_tail(turned) == lower_tail(cases)


@given(CASES, st.integers(1, 100))
def test_a_lower_score_is_never_weaker_evidence(cases: list[CaseScores], less: int) -> None:
    cases = [CaseScores((50, *c.before), c.now) for c in cases] + [CaseScores((100, 100), (100,))]
    lower = [*cases[:-1], CaseScores((100, 100), (100 - less,))]
    assert lower_tail(lower) <= lower_tail(cases)


def test_many_scores_are_sampled_and_the_same_every_time() -> None:
    source = random.Random(11)
    even = [
        CaseScores(tuple(source.randrange(101) for _ in range(7)), (source.randrange(101),))
        for _ in range(600)
    ]
    low = [CaseScores(one.before, (max(0, one.now[0] - 20),)) for one in even]
    assert lower_tail(even) == lower_tail(even)
    assert 0.01 < lower_tail(even) < 0.99
    assert lower_tail(low) < 0.001


@pytest.mark.parametrize(("cases", "trials", "scores"), [(10, 20, 101), (5_000, 3, 2), (1_000, 20, 2)])
def test_however_much_there_is_to_count_it_takes_no_time(cases: int, trials: int, scores: int) -> None:
    # A run waits for this at its end, with its account's row held.
    source = random.Random(12)
    drawn = [
        CaseScores(
            tuple(source.randrange(scores) for _ in range(7 * trials)),
            tuple(source.randrange(scores) for _ in range(trials)),
        )
        for _ in range(cases)
    ]
    began = time.thread_time()
    lower_tail(drawn)
    assert time.thread_time() - began < 5  # 24 s for the first when numbers were counted out in full
