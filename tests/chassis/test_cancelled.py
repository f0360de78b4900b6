"""The memory of cancelled runs: bounded in time and number."""

from __future__ import annotations

from uuid import UUID

from typing_extensions import override

from proctor_chassis.cancelled import CancelledRuns
from proctor_chassis.clock import SystemClock


class HandClock(SystemClock):
    """A clock that a test moves."""

    time = 0.0

    @override
    def monotonic(self) -> float:
        return self.time


def test_a_cancelled_run_is_remembered_for_a_day() -> None:
    clock = HandClock()
    runs = CancelledRuns(clock=clock)
    runs.add([UUID(int=1)])
    clock.time = 86_400.0
    runs.add([UUID(int=2)])
    assert UUID(int=1) in runs
    clock.time = 86_401.0
    runs.add([UUID(int=3)])
    assert UUID(int=1) not in runs
    assert UUID(int=2) in runs
    assert UUID(int=9) not in runs


def test_the_newest_are_kept_when_there_are_too_many() -> None:
    runs = CancelledRuns(clock=HandClock(), limit=2)
    runs.add(UUID(int=number) for number in (1, 2, 1, 3))
    assert [UUID(int=number) in runs for number in (1, 2, 3)] == [True, False, True]
    assert len(runs) == 2
