"""What heartbeats say: which workers live, what they hold, how much a pool can do at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from proctor_contracts.messages import WorkerHeartbeat

__all__ = ["Workers"]

SILENT_AFTER = timedelta(seconds=15)


def _one() -> int:
    return 1


class Workers:
    """The workers heard of lately, in this replica's memory.

    `connections` says how many connections to the broker there have been: between two, nobody was heard.
    """

    def __init__(self, *, clock: Callable[[], datetime], connections: Callable[[], int] = _one) -> None:
        self._clock = clock
        self._connections = connections
        self._since, self._heard_on = clock(), connections()
        self._seen: dict[str, tuple[datetime, WorkerHeartbeat]] = {}

    def heard(self, beat: WorkerHeartbeat) -> None:
        """Note a heartbeat; a worker that stops is forgotten."""
        if beat.stopping:
            self._seen.pop(beat.worker_id, None)
        elif not beat.starting:
            self._seen[beat.worker_id] = (self._clock(), beat)

    def listen_anew(self) -> None:
        """Trust the silence of a worker only after a while: something was away, and work is coming back."""
        self._since, self._heard_on = self._clock(), self._connections()

    def listened_long_enough(self) -> bool:
        """Whether every living worker must have been heard by now."""
        if self._connections() != self._heard_on:
            self.listen_anew()
        return self._clock() - self._since >= SILENT_AFTER

    def holds(self, job: str) -> bool:
        """Whether a living worker says that it works on this job."""
        return job in self.held()

    def held(self) -> frozenset[str]:
        """Every job that a living worker says it works on."""
        return frozenset(job for beat in self._living() for job in beat.in_flight)

    def concurrency(self, pool: str) -> int | None:
        """How many cases the runners of a pool take at once; None before the first heartbeat."""
        found = [b.concurrency for b in self._living() if b.service == "runner" and b.pool == pool]
        return sum(found) or None

    def counts(self) -> dict[tuple[str, str], int]:
        """Living workers by service and pool."""
        counted: dict[tuple[str, str], int] = {}
        for beat in self._living():
            counted[beat.service, beat.pool] = counted.get((beat.service, beat.pool), 0) + 1
        return counted

    def _living(self) -> list[WorkerHeartbeat]:
        since = self._clock() - SILENT_AFTER
        self._seen = {worker: seen for worker, seen in self._seen.items() if seen[0] >= since}
        return [beat for _, beat in self._seen.values()]
