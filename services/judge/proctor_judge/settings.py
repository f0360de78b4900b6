"""What a judge is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from proctor_chassis.settings import WorkerSettings

__all__ = ["JudgeServiceSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeServiceSettings:
    """How many attempts a judge takes at once, how many calls each may make at once, and its name."""

    worker_id: str
    concurrency: int = 16
    calls_at_once: int = 8

    @classmethod
    def of(cls, worker: WorkerSettings) -> Self:
        """Take what every worker is told."""
        return cls(worker_id=worker.worker_id, concurrency=worker.concurrency)
