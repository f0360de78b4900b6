from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.corrections import benjamini_hochberg, holm


@pytest.mark.parametrize(
    ("p_values", "family", "discovery"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], [0.02, 0.04, 0.04, 0.02]),
        ([0.001, 0.02, 0.03, 0.5], [0.004, 0.06, 0.06, 0.5], [0.004, 0.04, 0.04, 0.5]),
        ([0.05] * 3, [0.15] * 3, [0.05] * 3),
        ([], [], []),
        ([0.4], [0.4], [0.4]),
        ([0.6, 0.9], [1, 1], [0.9, 0.9]),
    ],
)
def test_adjusted_p_values(p_values: list[float], family: list[float], discovery: list[float]) -> None:
    assert holm(p_values) == pytest.approx(family, abs=1e-12)
    assert benjamini_hochberg(p_values) == pytest.approx(discovery, abs=1e-12)


P_VALUES = st.lists(st.floats(0, 1), max_size=12)


@given(P_VALUES)
def test_adjusting_never_helps_and_holm_is_the_stricter(p_values: list[float]) -> None:
    for p, family, discovery in zip(p_values, holm(p_values), benjamini_hochberg(p_values), strict=True):
        assert p - 1e-12 <= discovery <= family + 1e-12
        assert family <= 1


@given(P_VALUES)
def test_adjusting_keeps_the_order(p_values: list[float]) -> None:
    ranked = sorted(range(len(p_values)), key=p_values.__getitem__)
    for adjusted in (holm(p_values), benjamini_hochberg(p_values)):
        in_order = [adjusted[index] for index in ranked]
        assert in_order == sorted(in_order)
