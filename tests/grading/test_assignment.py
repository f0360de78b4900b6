from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.tool_assertions import SequenceMode
from proctor_grading.assignment import common_order, f1, holds, maximum_matching

GRIDS = st.integers(0, 5).flatmap(
    lambda calls: st.tuples(
        st.lists(st.lists(st.booleans(), min_size=calls, max_size=calls), max_size=5), st.just(calls)
    )
)
Grid = tuple[list[list[bool]], int]


def most_pairs(fits: list[list[bool]], calls: int) -> int:
    """Try every way of giving steps calls of their own, by a recursion that cannot be wrong."""

    def best(step: int, taken: frozenset[int]) -> int:
        if step == len(fits):
            return 0
        without = best(step + 1, taken)
        return max(
            [without]
            + [
                1 + best(step + 1, taken | {call})
                for call in range(calls)
                if call not in taken and fits[step][call]
            ]
        )

    return best(0, frozenset())


@given(GRIDS)
def test_the_matching_is_a_matching_and_no_larger_one_exists(grid: Grid) -> None:
    fits, calls = grid
    pairs = maximum_matching(fits, calls)
    assert all(fits[step][call] for step, call in pairs.items())
    assert len(set(pairs.values())) == len(pairs)
    assert len(pairs) == most_pairs(fits, calls)


@given(GRIDS)
def test_modes_hold_just_when_such_an_assignment_exists(grid: Grid) -> None:
    fits, calls = grid
    steps = len(fits)
    ordered = any(
        all(fits[step][call] for step, call in enumerate(chosen)) and list(chosen) == sorted(chosen)
        for chosen in permutations(range(calls), steps)
    )
    every_step = any(
        all(fits[step][call] for step, call in enumerate(chosen))
        for chosen in permutations(range(calls), steps)
    )
    every_call = any(
        all(fits[step][call] for call, step in enumerate(chosen))
        for chosen in permutations(range(steps), calls)
    )
    assert holds(SequenceMode.IN_ORDER, fits, calls) is ordered
    assert holds(SequenceMode.ANY_ORDER, fits, calls) is every_step
    assert holds(SequenceMode.UNORDERED, fits, calls) is (every_step and every_call)
    assert holds(SequenceMode.SUBSET, fits, calls) is every_call
    assert holds(SequenceMode.EXACT, fits, calls) is (
        steps == calls and all(fits[index][index] for index in range(steps))
    )
    assert holds(SequenceMode.FORBIDDEN, fits, calls) is not any(any(row) for row in fits)


@given(GRIDS)
def test_order_never_finds_more_than_matching(grid: Grid) -> None:
    fits, calls = grid
    assert common_order(fits, calls) <= len(maximum_matching(fits, calls))


def test_many_equal_calls_and_steps_are_paired() -> None:
    fits = [[True] * 3_000 for _ in range(200)]
    assert len(maximum_matching(fits, 3_000)) == 200


def test_a_long_chain_of_moves_is_followed() -> None:
    """Greed gives every step its own call, and then the last step needs all others to move on by one."""
    size = 200
    fits = [[call in {step, step + 1} for call in range(size)] for step in range(size - 1)]
    fits.append([call == 0 for call in range(size)])
    assert maximum_matching(fits, size) == {step: (step + 1) % size for step in range(size)}


@pytest.mark.parametrize(
    ("matched", "steps", "calls", "score"), [(2, 2, 2, 1), (1, 2, 1, 2 / 3), (0, 0, 0, 1), (0, 1, 0, 0)]
)
def test_f1_of_steps_and_calls(matched: int, steps: int, calls: int, score: float) -> None:
    assert f1(matched, steps, calls) == pytest.approx(score)
