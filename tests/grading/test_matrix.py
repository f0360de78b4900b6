from __future__ import annotations

from uuid import UUID

import pytest

from proctor_contracts.schemas.compare import PairVerdict, PairView
from proctor_grading.comparison import mcnemar
from proctor_grading.corrections import holm
from proctor_grading.matrix import Cell, pairs, side_by_side
from tests.grading.rows import row


def cell(number: int, statuses: str, **fields: object) -> Cell:
    """A run whose cases passed (p), failed (f) or ended in an error (e)."""
    words = {"p": "passed", "f": "failed", "e": "error"}
    found = [row(place, words[letter], **fields) for place, letter in enumerate(statuses, 1)]
    return Cell(UUID(int=1_000 + number), found)


def between(found: list[PairView], a: int, b: int) -> PairView:
    (pair,) = [one for one in found if (one.a, one.b) == (a, b)]
    return pair


def test_cases_stand_side_by_side_those_that_differ_first() -> None:
    rows = side_by_side([cell(0, "ppf"), cell(1, "pff")])
    assert [one.case_ref for one in rows] == ["RM-2", "RM-1", "RM-3"]
    assert [one.differs for one in rows] == [True, False, False]
    assert [[one.status for one in row.cells] for row in rows] == [
        ["passed", "failed"],
        ["passed", "passed"],
        ["failed", "failed"],
    ]


def test_critical_cases_lead_those_that_differ() -> None:
    left = Cell(UUID(int=1), [row(1, "passed"), row(2, "passed", critical=True), row(3, "passed")])
    right = Cell(UUID(int=2), [row(1, "failed"), row(2, "failed", critical=True), row(3, "passed")])
    assert [one.case_ref for one in side_by_side([left, right])] == ["RM-2", "RM-1", "RM-3"]


def test_trials_of_a_case_are_counted_and_a_missing_case_has_no_status() -> None:
    left = Cell(UUID(int=1), [row(1, "passed"), row(1, "failed", trial=2), row(1, "error", trial=3)])
    (only,) = side_by_side([left, Cell(UUID(int=2), [])])
    first, second = only.cells
    assert (first.status, first.passed, first.graded, first.trials, first.score) == ("failed", 1, 2, 3, 50)
    assert (second.status, second.trials, second.score) == (None, 0, None)
    assert only.differs


def test_trials_that_pass_more_often_differ_though_the_worst_is_alike() -> None:
    left = Cell(UUID(int=1), [row(1, "passed"), row(1, "failed", trial=2)])
    right = Cell(UUID(int=2), [row(1, "failed"), row(1, "failed", trial=2)])
    assert side_by_side([left, right])[0].differs


def test_every_pair_is_tested_and_holm_adjusts_those_with_the_baseline_as_a_family() -> None:
    cells = [cell(0, "p" * 20), cell(1, "p" * 10 + "f" * 10), cell(2, "p" * 14 + "f" * 6), cell(3, "p" * 20)]
    found = pairs(cells, baseline=0)
    assert [(one.a, one.b, one.with_baseline) for one in found] == [
        (0, 1, True), (0, 2, True), (0, 3, True), (1, 2, False), (1, 3, False), (2, 3, False),
    ]  # fmt: skip
    mine = [mcnemar(10, 0).mid_p, mcnemar(6, 0).mid_p, 1.0]
    assert [one.adjusted for one in found[:3]] == pytest.approx(holm(mine))
    others = [mcnemar(0, 4).mid_p, mcnemar(0, 10).mid_p, mcnemar(0, 6).mid_p]
    assert [one.adjusted for one in found[3:]] == pytest.approx(holm(others))


def test_the_baseline_need_not_be_the_first_cell() -> None:
    found = pairs([cell(0, "p" * 20), cell(1, "f" * 20), cell(2, "p" * 20)], baseline=1)
    assert [(one.a, one.b, one.with_baseline) for one in found] == [
        (1, 0, True), (1, 2, True), (0, 2, False),
    ]  # fmt: skip
    assert between(found, 1, 0).verdict is PairVerdict.BETTER


def test_a_pair_says_what_broke_and_by_how_much() -> None:
    (found,) = pairs([cell(0, "p" * 20), cell(1, "f" * 10 + "p" * 10)], baseline=0)
    assert found.verdict is PairVerdict.WORSE
    assert found.broken == tuple(f"RM-{n}" for n in sorted(range(1, 11), key=lambda n: f"RM-{n}"))
    assert found.summary.startswith("worse by 50 points (adjusted p = ")


def test_adjusting_can_take_back_a_verdict() -> None:
    weak = "f" * 5 + "p" * 15
    (alone,) = pairs([cell(0, "p" * 20), cell(1, weak)], baseline=0)
    assert (alone.verdict, alone.adjusted) == (PairVerdict.WORSE, mcnemar(5, 0).mid_p)
    among = pairs([cell(0, "p" * 20), *(cell(n, weak) for n in range(1, 5))], baseline=0)
    assert {one.verdict for one in among if one.with_baseline} == {PairVerdict.NO_EVIDENCE}


def test_without_evidence_the_smallest_difference_that_could_have_shown_is_said() -> None:
    (found,) = pairs([cell(0, "p" * 18 + "ff"), cell(1, "p" * 17 + "fff")], baseline=0)
    assert found.verdict is PairVerdict.NO_EVIDENCE
    assert found.test is not None
    assert found.test.smallest_detectable is not None
    points = f"{100 * found.test.smallest_detectable:.1f}".removesuffix(".0")
    assert found.summary.endswith(f"smallest one this could have shown: {points} points")


def test_a_cell_whose_provider_failed_is_not_comparable_and_leaves_the_others_alone() -> None:
    cells = [cell(0, "p" * 20), cell(1, "e" * 20), cell(2, "f" * 20), Cell(UUID(int=9), [])]
    found = pairs(cells, baseline=0)
    assert between(found, 0, 1).verdict is PairVerdict.NOT_COMPARABLE
    assert between(found, 0, 3).summary == "not comparable: no case was graded in both runs"
    worse = between(found, 0, 2)
    # What could not be tested is no member of the family.
    assert (worse.verdict, worse.adjusted) == (PairVerdict.WORSE, mcnemar(20, 0).mid_p)


def test_one_cell_has_no_pair() -> None:
    assert pairs([cell(0, "pf")], baseline=0) == []
