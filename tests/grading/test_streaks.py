from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.enums import RunStatus
from proctor_contracts.gate import GateOutcome
from proctor_grading.streaks import Ended, Told, notices

RUNS = {
    "F": Ended(RunStatus.FAILED, GateOutcome.UNDECIDED),
    "C": Ended(RunStatus.COMPLETED, GateOutcome.PASSED),
    "L": Ended(RunStatus.COMPLETED, GateOutcome.FAILED),
    "U": Ended(RunStatus.COMPLETED, GateOutcome.UNDECIDED),
    "X": Ended(RunStatus.CANCELLED, GateOutcome.FAILED),
}


def told(text: str, threshold: int) -> list[str]:
    """What each run of a history tells, as the alerter asks it: one letter, `.` for nothing."""
    letters = {Told.FAILING: "f", Told.RECOVERED: "r", Told.GATE_LOST: "g"}
    found = []
    for end in range(1, len(text) + 1):
        runs = [RUNS[one] for one in text[:end]]
        seen = notices(runs, failing=threshold, recovered=threshold, gate_lost=threshold)
        found.append("".join(letters[one.told] for one in seen) or ".")
    return found


@pytest.mark.parametrize(
    ("runs", "threshold", "expected"),
    [
        ("FFFC", 1, "f . . r"),
        ("FFFC", 2, ". f . r"),
        ("FCFF", 2, ". . . f"),
        ("FXFXC", 2, ". . f . r"),
        ("FXXC", 1, "f . . r"),
        ("CC", 1, ". ."),
        ("FCFC", 1, "f r f r"),
        ("FL", 2, ". ."),
        ("LLCL", 1, "g . . g"),
        ("LUXLF", 2, ". . . g ."),
        ("XFX", 1, ". f ."),
    ],
)
def test_a_streak_is_told_once_and_so_is_its_end(runs: str, threshold: int, expected: str) -> None:
    assert " ".join(told(runs, threshold)) == expected


def test_a_recovery_says_how_many_failed() -> None:
    (notice,) = notices([RUNS[one] for one in "FXFFC"], failing=2, recovered=2)
    assert (notice.told, notice.runs, notice.threshold) == (Told.RECOVERED, 3, 2)


def test_nothing_is_told_of_nothing_or_of_what_is_off() -> None:
    assert notices([], failing=1) == ()
    assert notices([RUNS["F"]]) == ()
    assert notices([RUNS["F"], RUNS["L"]]) == ()


@given(st.text("FCLUX", max_size=40), st.integers(1, 4))
def test_every_streak_that_reaches_the_threshold_has_one_notice_and_one_end(
    runs: str, threshold: int
) -> None:
    seen = told(runs, threshold)
    streaks = [len(part) for part in runs.replace("X", "").replace("L", "C").replace("U", "C").split("C")]
    reached = [length >= threshold for length in streaks]
    assert sum("f" in one for one in seen) == sum(reached)
    assert sum("r" in one for one in seen) == sum(reached[:-1])
