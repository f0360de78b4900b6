"""What the runner does with a job: says that it begins, and plays it."""

from __future__ import annotations

from typing import Protocol

from proctor_contracts.messages import CaseExecuted, CaseRequested, LiveEvent, Transient

from .attempts import Attempts

__all__ = ["Handlers"]


class Announcer(Protocol):
    """The half of the bus that may lose a message."""

    async def announce(self, message: Transient) -> None:
        """Send to whoever listens."""
        ...


class Handlers:
    """Turns jobs into facts."""

    def __init__(self, *, bus: Announcer, attempts: Attempts) -> None:
        self._bus = bus
        self._attempts = attempts

    async def case_requested(self, job: CaseRequested) -> CaseExecuted:
        """Tell whoever watches that the case began, then play it."""
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
