"""What the runner does with a job: says that it begins, and plays it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from proctor_contracts.messages import CaseExecuted, CaseRequested, LiveEvent, Transient

from .attempts import Attempts

__all__ = ["Handlers"]


class Announcer(Protocol):
    """The half of the bus that may lose a message."""

    async def announce(self, message: Transient) -> None:
        """Send to whoever listens."""
        ...


STARTS_A_SECOND = 20
"""More than a person can watch; each one costs a message that every API replica reads."""


class Handlers:
    """Turns jobs into facts."""

    def __init__(
        self, *, bus: Announcer, attempts: Attempts, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._bus = bus
        self._attempts = attempts
        self._monotonic = monotonic
        self._told: deque[float] = deque(maxlen=STARTS_A_SECOND)

    async def case_requested(self, job: CaseRequested) -> CaseExecuted:
        """Tell whoever watches that the case began, unless they hear of many already, and play it."""
        if self._worth_telling():
            await self._tell(job)
        return await self._attempts.play(job)

    def _worth_telling(self) -> bool:
        now = self._monotonic()
        if len(self._told) == STARTS_A_SECOND and now - self._told[0] < 1:
            return False
        self._told.append(now)
        return True

    async def _tell(self, job: CaseRequested) -> None:
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
                    **({} if job.weather is None else {"weather": job.weather}),
                },
            )
        )
