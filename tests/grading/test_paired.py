from __future__ import annotations

import pytest

from proctor_grading.paired import Pair, by_category, paired_test


def single(category: str, said: str) -> list[Pair]:
    """One letter a case: b broke, f was fixed, p passes in both, x fails in both."""
    ends = {"b": (1, 0), "f": (0, 1), "p": (1, 1), "x": (0, 0)}
    return [Pair(category, (ends[one][0], 1), (ends[one][1], 1)) for one in said]


def test_rates_are_those_of_the_pairs() -> None:
    test = paired_test(single("А", "bbf" + "p" * 6 + "x"))
    assert (test.rate_a, test.rate_b, test.mean_difference) == pytest.approx((0.8, 0.7, -0.1))
    assert (test.worse, test.better, test.pairs) == (2, 1, 10)


def test_the_smallest_difference_follows_the_spread() -> None:
    test = paired_test(single("А", "b" * 10 + "fff" + "p" * 37))
    assert test.smallest_detectable == pytest.approx(2.8015852 * 0.0700437, abs=1e-6)  # its standard error


def test_pairs_that_never_differ_do_not_promise_to_show_everything() -> None:
    # Five cases must break before mid-p falls to .05.
    assert paired_test(single("А", "p" * 20)).smallest_detectable == pytest.approx(5 / 20)
    assert paired_test(single("А", "p" * 100)).smallest_detectable == pytest.approx(5 / 100)
    # Six, by one of their three trials each, before sign flips do.
    thrice = [Pair("А", (3, 3), (3, 3))] * 20
    assert paired_test(thrice).smallest_detectable == pytest.approx(6 / 20 / 3)


def test_too_few_pairs_show_nothing() -> None:
    assert paired_test(single("А", "bbbb")).smallest_detectable is None
    assert paired_test(single("А", "b")).smallest_detectable is None
    assert paired_test(single("А", "bbbbb")).p_value <= 0.05


def test_categories_are_adjusted_together_and_sorted_by_evidence() -> None:
    pairs = single("А", "bf" + "p" * 8) + single("Б", "b" * 8 + "p" * 2) + single("В", "p" * 5)
    found = by_category(pairs)
    assert [one.category for one in found] == ["Б", "А"]
    assert (found[0].worse, found[0].pairs, found[0].mean_difference) == (8, 10, -0.8)
    assert found[0].p_value == pytest.approx(0.5**8)
    assert found[0].adjusted == pytest.approx(3 * 0.5**8)
    assert by_category([]) == ()
