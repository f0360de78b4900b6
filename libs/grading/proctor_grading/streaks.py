"""Runs in a row that went wrong: when to tell of them, decided from the runs alone.

Nothing is remembered between two looks, so a run that is looked at twice, or before the one that ended before
it, is judged as it always was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from proctor_contracts.enums import RunStatus
from proctor_contracts.gate import GateOutcome

__all__ = ["Ended", "Notice", "Told", "notices"]


class Told(StrEnum):
    """What a run in a row of runs is a reason to tell."""

    FAILING = "failing"
    RECOVERED = "recovered"
    GATE_LOST = "gate_lost"


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run of a row ended; `gate` is None where no gate was decided."""

    status: RunStatus
    gate: GateOutcome | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell, with the runs in a row that it is about and the number that was asked for."""

    told: Told
    runs: int
    threshold: int


def notices(
    runs: Sequence[Ended],
    *,
    failing: int | None = None,
    recovered: int | None = None,
    gate_lost: int | None = None,
) -> tuple[Notice, ...]:
    """Say what the last of these runs, the newest, is a reason to tell; thresholds are None where off.

    A streak of failed runs is told of by the run that reaches the threshold and by no other. The first run
    that completes after a streak of at least the threshold tells of the recovery. Cancelled runs count
    neither way. Gates are a row of their own: a lost one counts, a passed one ends the streak, one that could
    not be decided counts neither way.
    """
    if not runs:
        return ()
    found = []
    executed = [run.status is RunStatus.FAILED for run in runs if run.status is not RunStatus.CANCELLED]
    newest = runs[-1]
    if failing is not None and newest.status is RunStatus.FAILED and _streak(executed) == failing:
        found.append(Notice(Told.FAILING, failing, failing))
    if recovered is not None and newest.status is RunStatus.COMPLETED:
        before = _streak(executed[:-1])
        if before >= recovered:
            found.append(Notice(Told.RECOVERED, before, recovered))
    gates = [run.gate is GateOutcome.FAILED for run in runs if _decided(run)]
    if gate_lost is not None and _decided(newest) and _streak(gates) == gate_lost:
        found.append(Notice(Told.GATE_LOST, gate_lost, gate_lost))
    return tuple(found)


def _decided(run: Ended) -> bool:
    """Whether a run says something of its gate: it completed, and the gate passed or was lost."""
    return run.status is RunStatus.COMPLETED and run.gate in {GateOutcome.FAILED, GateOutcome.PASSED}


def _streak(wrong: Sequence[bool]) -> int:
    """Count how many at the end went wrong in a row."""
    return next((length for length, one in enumerate(reversed(wrong)) if not one), len(wrong))
