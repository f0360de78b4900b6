from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.comparison import mcnemar, sign_flip


@pytest.mark.parametrize(
    ("b", "c", "exact", "mid"),
    [
        (0, 0, 1, 1),
        (1, 0, 1, 0.5),
        (6, 0, 0.031250, 0.015625),
        (1, 7, 0.070312, 0.039062),
        (10, 2, 0.038574, 0.022461),
        (10, 3, 0.092285, 0.057373),
        (7, 7, 1, 0.895264),
    ],
)
def test_mcnemar(b: int, c: int, exact: float, mid: float) -> None:
    test = mcnemar(b, c)
    assert test.exact == pytest.approx(exact, abs=1e-6)
    assert test.mid_p == pytest.approx(mid, abs=1e-6)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([10, 20, 30], 0.25),
        ([10, -5, 20, 15, 0, 30], 0.125),
        ([5] * 6, 0.031250),
        ([12, 7, -3, 20, 15, 8, -2, 9, 30, -10, 4, 6], 0.024414),
        ([100, 0, 0, -100], 1),
        ([20, 0, 0, -40, 0, 0, 60, 0, 10, 0], 0.625),
        ([1], 1),
        ([], 1),
        ([0, 0], 1),
        ([1] * 10 + [-1] * 3, 0.092285),
    ],
)
def test_sign_flip(differences: list[int], p: float) -> None:
    assert sign_flip(differences) == pytest.approx(p, abs=1e-6)


DIFFERENCES = st.lists(st.integers(-100, 100), max_size=10)


@given(DIFFERENCES)
def test_sign_flip_counts_what_trying_every_sign_counts(differences: list[int]) -> None:
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    assert sign_flip(differences) == pytest.approx(sum(s >= observed for s in sums) / len(sums))


@given(st.integers(0, 40), st.integers(0, 40))
def test_on_binary_pairs_both_exact_tests_agree_and_sides_are_alike(b: int, c: int) -> None:
    assert mcnemar(b, c) == mcnemar(c, b)
    assert sign_flip([1] * b + [-1] * c) == pytest.approx(mcnemar(b, c).exact)
    assert mcnemar(b, c).mid_p <= mcnemar(b, c).exact


def test_many_wide_differences_are_sampled_and_the_same_every_time() -> None:
    source = random.Random(5)
    even = [source.randrange(-997, 998) for _ in range(60)]
    shifted = [difference + 400 for difference in even]
    assert sign_flip(even) == sign_flip(even)
    assert 0.01 < sign_flip(even) <= 1
    assert sign_flip(shifted) < 0.01
    assert sign_flip(shifted, random.Random(1)) < 0.01
