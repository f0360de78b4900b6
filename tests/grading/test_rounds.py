"""Which pairs a comparison has that goes on until it is decided, and which come next."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from uuid import UUID

import pytest

from proctor_contracts.enums import ResultStatus
from proctor_contracts.verdicts import ComparisonVerdict
from proctor_grading.rounds import PORTION, portion, standing, standings
from proctor_grading.rows import ResultRow
from proctor_grading.sequential import Plan

CASES = [UUID(int=number) for number in range(1, 46)]
PASSED, FAILED, ERROR = ResultStatus.PASSED, ResultStatus.FAILED, ResultStatus.ERROR


def run(*statuses: ResultStatus, start: int = 0) -> list[ResultRow]:
    return [
        ResultRow(case_id=CASES[start + at], name=f"case {at}", category="Мова", status=status)
        for at, status in enumerate(statuses)
    ]


def played(seed: str, limit: int) -> list[list[UUID]]:
    found: list[list[UUID]] = []
    while chosen := portion(seed, CASES, tried=sum(map(len, found)), limit=limit):
        found.append(chosen)
    return found


def test_every_case_is_played_once_before_any_is_played_again() -> None:
    portions = played("a", 160)
    order = list(itertools.chain(*portions))
    assert len(order) == 160
    for start in range(0, 135, 45):
        assert sorted(order[start : start + 45]) == CASES
    assert max(map(len, portions)) == PORTION
    assert all(len(set(chosen)) == len(chosen) for chosen in portions)
    assert order[:45] != order[45:90]


def test_the_order_is_the_same_for_everybody_and_however_the_cases_are_listed() -> None:
    shuffled = random.Random(5).sample(CASES, len(CASES))
    assert portion("a", CASES, tried=20, limit=160) == portion("a", shuffled, tried=20, limit=160)
    assert portion("a", CASES, tried=20, limit=160) != portion("b", CASES, tried=20, limit=160)


@pytest.mark.parametrize(("tried", "limit", "size"), [(0, 7, 7), (40, 50, 5), (40, 43, 3), (160, 160, 0)])
def test_a_portion_ends_with_the_round_and_at_the_limit(tried: int, limit: int, size: int) -> None:
    assert len(portion("a", CASES, tried=tried, limit=limit)) == size


def test_pairs_are_counted_over_all_runs_and_only_where_both_sides_have_a_verdict() -> None:
    runs = [
        (run(PASSED, PASSED, FAILED, ERROR), run(FAILED, PASSED, PASSED, PASSED)),
        (run(PASSED, PASSED, start=4), run(FAILED, ERROR, start=4)),
    ]
    found = standing(Plan(max_pairs=160), runs)
    assert (found.tried, found.look.pairs, found.look.difference) == (6, 4, -1 / 4)
    assert found.open


def test_a_flaky_pass_is_a_failed_first_attempt() -> None:
    lucky = ResultRow(case_id=CASES[0], name="c", category="Мова", status=PASSED, first_status=FAILED)
    found = standing(Plan(max_pairs=160), [(run(PASSED), [lucky])])
    assert found.look.difference == -1


def test_what_only_errs_ends_undecided_at_the_limit_instead_of_never() -> None:
    found = standing(Plan(max_pairs=4), [(run(*[PASSED] * 4), run(*[ERROR] * 4))])
    assert (found.look.verdict, found.look.pairs, found.look.difference) == (
        ComparisonVerdict.UNDECIDED,
        0,
        None,
    )


def test_runs_in_which_everything_errs_end_it_before_the_limit() -> None:
    found = standing(
        Plan(max_pairs=160), [(run(PASSED, PASSED), run(PASSED, PASSED)), (run(PASSED), run(ERROR))]
    )
    assert (found.look.verdict, found.tried) == (ComparisonVerdict.UNDECIDED, 3)


def test_cells_share_the_chance_of_a_wrong_decision() -> None:
    plan = Plan(max_pairs=160, alpha=0.05)
    before, after = run(*[PASSED] * 8), run(*[FAILED] * 8)
    same = run(*[PASSED] * 8)
    # 2^8 / 9 = 28.4: enough for 1/0.05, too little for 1/0.025.
    alone = standings(plan, [before], {1: [after]})
    assert alone[1].look.verdict is ComparisonVerdict.WORSE
    both = standings(plan, [before], {1: [after], 2: [same]})
    assert Counter(one.look.verdict for one in both.values()) == {None: 2}


def test_a_cell_that_was_decided_earlier_keeps_the_pairs_it_had() -> None:
    before = [run(*[PASSED] * 8), run(*[PASSED] * 8, start=8)]
    found = standings(Plan(max_pairs=160), before, {1: [run(*[FAILED] * 8)]})
    assert (found[1].tried, found[1].look.verdict) == (8, ComparisonVerdict.WORSE)
