"""Jobs that wait at hand: where one process owns everything, the next case begins when one ends.

The transaction that records the end lets the next job out of the database, which takes about as long as a
quick model's answer. So a run's window may be twice what it plays at once, and what is too early waits here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from proctor_contracts.topology import case_key
from proctor_store.repositories.outbox import Outgoing

__all__ = ["Departure", "Turnstile"]

_CASES = case_key("")


@dataclass(frozen=True, slots=True)
class Departure:
    """A job ready to leave; `limit` is how many cases of its run may be played at once."""

    job: Outgoing
    limit: int


@dataclass(slots=True)
class _Gate:
    playing: set[str] = field(default_factory=set)
    waiting: deque[Outgoing] = field(default_factory=deque)


class Turnstile:
    """Holds the case jobs of each run to its limit; all other jobs pass."""

    def __init__(self) -> None:
        self._gates: dict[UUID, _Gate] = {}

    def enter(self, departures: Sequence[Departure]) -> Sequence[Outgoing]:
        """Take jobs; returns those that may go now, in order."""
        going: list[Outgoing] = []
        for each in departures:
            job = each.job
            if job.run_id is None or not job.key.startswith(_CASES):
                going.append(job)
                continue
            gate = self._gates.setdefault(job.run_id, _Gate())
            if len(gate.playing) < each.limit:
                gate.playing.add(job.message_id)
                going.append(job)
            else:
                gate.waiting.append(job)
        return going

    def ended(self, run_id: UUID, job_id: str) -> Outgoing | None:
        """Hear that a case was played, or never will be; returns the job that takes its place.

        Hearing it again changes nothing.
        """
        gate = self._gates.get(run_id)
        if gate is None or job_id not in gate.playing:
            return None
        gate.playing.remove(job_id)
        if gate.waiting:
            job = gate.waiting.popleft()
            gate.playing.add(job.message_id)
            return job
        if not gate.playing:
            del self._gates[run_id]
        return None

    @property
    def fed(self) -> bool:
        """Whether runs are played and each has a job at hand, so that none waits for a transaction."""
        return bool(self._gates) and all(gate.waiting for gate in self._gates.values())

    def forget(self, run_ids: Sequence[UUID]) -> None:
        """Let go of the jobs of runs that were cancelled."""
        for run_id in run_ids:
            self._gates.pop(run_id, None)
