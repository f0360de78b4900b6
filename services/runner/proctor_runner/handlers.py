"""What the runner does with messages: plays jobs that are wanted, drops those of cancelled runs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol
from uuid import UUID

from proctor_chassis.bus import Meta
from proctor_chassis.cancelled import CancelledRuns
from proctor_chassis.joining import JobCancelled
from proctor_contracts.messages import (
    CaseExecuted,
    CaseRequested,
    LiveEvent,
    Message,
    Transient,
)

from .attempts import Attempts

__all__ = ["Handlers"]


class Sender(Protocol):
    """The half of the bus that sends."""

    async def publish(self, message: Message) -> None:
        """Send durably."""
        ...

    async def announce(self, message: Transient) -> None:
        """Send to whoever listens."""
        ...


class Joining(Protocol):
    """Runs a job once, however often it is delivered."""

    async def run(
        self, job_id: str, factory: Callable[[], Coroutine[Any, Any, CaseExecuted]]
    ) -> CaseExecuted:
        """Start the job, or wait for the one that runs already."""
        ...

    def cancel(self, wanted: Callable[[str], bool]) -> int:
        """Call off the running jobs whose ids are wanted."""
        ...


class Handlers:
    """Takes jobs and cancellations."""

    def __init__(self, *, bus: Sender, attempts: Attempts, joined: Joining, cancelled: CancelledRuns) -> None:
        self._bus = bus
        self._attempts = attempts
        self._joined = joined
        self._cancelled = cancelled

    async def case_requested(self, job: CaseRequested, _meta: Meta) -> None:
        """Play the job once and say what happened; the job is done when the bus has the fact.

        A job of a cancelled run is dropped without a word: its result is already cancelled.
        """
        if job.run_id in self._cancelled:
            return
        try:
            fact = await self._joined.run(job.id(), lambda: self._play(job))
        except JobCancelled:
            return
        await self._bus.publish(fact)

    def runs_cancelled(self, run_ids: tuple[UUID, ...]) -> None:
        """Stop the conversations of these runs at once, and remember the runs for jobs still in a queue."""
        self._cancelled.add(run_ids)
        gone = frozenset(map(str, run_ids))
        self._joined.cancel(lambda job_id: job_id.partition(":")[0] in gone)

    async def _play(self, job: CaseRequested) -> CaseExecuted:
        await self._bus.announce(
            LiveEvent(
                run_id=job.run_id,
                event="case.started",
                data={
                    "caseId": str(job.case.id),
                    "ref": job.case.ref,
                    "name": job.case.name,
                    "trial": job.trial,
                    "attempt": job.attempt,
                },
            )
        )
        return await self._attempts.play(job)
