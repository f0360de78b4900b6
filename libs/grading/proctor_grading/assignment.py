"""How many steps find a call of their own: by maximum matching, and by the longest common order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from proctor_contracts.tool_assertions import SequenceMode

__all__ = ["common_order", "f1", "holds", "maximum_matching"]

Fits = Sequence[Sequence[bool]]
"""`fits[step][call]`: whether a call answers a step."""


def maximum_matching(fits: Fits, calls: int) -> dict[int, int]:
    """Pair as many steps as possible with calls of their own; returns step to call.

    Greedy pairing is not enough: a step that any call answers may take the only one that another step needs.
    """
    # A step with as many choices as there are steps always finds one, so that more need not be looked at.
    choices = [[call for call in range(calls) if row[call]][: len(fits)] for row in fits]
    call_of: dict[int, int] = {}
    step_of: dict[int, int] = {}
    for step in range(len(fits)):
        _augment(step, choices, call_of, step_of)
    return call_of


def _augment(
    start: int, choices: Sequence[Sequence[int]], call_of: dict[int, int], step_of: dict[int, int]
) -> None:
    """Give `start` a call, moving other steps to other calls where needed; breadth first, no recursion."""
    wanted_by: dict[int, int] = {}
    waiting = [start]
    for step in waiting:
        for call in choices[step]:
            if call in wanted_by:
                continue
            wanted_by[call] = step
            if call in step_of:
                waiting.append(step_of[call])
                continue
            free: int | None = call
            while free is not None:
                taker = wanted_by[free]
                given_up = call_of.get(taker)
                call_of[taker], step_of[free] = free, taker
                free = given_up
            return


def common_order(fits: Fits, calls: int) -> int:
    """Count the most steps that find calls in the steps' own order."""
    row = [0] * (calls + 1)
    for step in fits:
        above = row
        row = [0] * (calls + 1)
        for call in range(calls):
            row[call + 1] = above[call] + 1 if step[call] else max(above[call + 1], row[call])
    return row[calls]


def f1(matched: int, steps: int, calls: int) -> float:
    """Twice the matched over all steps and calls; nothing asked and nothing done is 1."""
    return 2 * matched / (steps + calls) if steps + calls else 1.0


def holds(mode: SequenceMode, fits: Fits, calls: int) -> bool:
    """Whether the calls stand to the steps as the mode says."""
    steps = len(fits)
    match mode:
        case SequenceMode.EXACT:
            return steps == calls and all(fits[index][index] for index in range(steps))
        case SequenceMode.IN_ORDER:
            return common_order(fits, calls) == steps
        case SequenceMode.ANY_ORDER:
            return len(maximum_matching(fits, calls)) == steps
        case SequenceMode.UNORDERED:
            return steps == calls and len(maximum_matching(fits, calls)) == steps
        case SequenceMode.SUBSET:
            return calls <= steps and len(maximum_matching(fits, calls)) == calls
        case SequenceMode.FORBIDDEN:
            return not any(map(any, fits))
        case _:
            assert_never(mode)
