"""What a runner is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from proctor_chassis.settings import WorkerSettings
from proctor_contracts.topology import DEFAULT_POOL

__all__ = ["RunnerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """Which pool a runner serves, how many cases it plays at once, and its name in heartbeats.

    One that is alone serves `other_pools` as well.
    """

    worker_id: str
    pool: str = DEFAULT_POOL
    other_pools: tuple[str, ...] = ()
    concurrency: int = 16

    @classmethod
    def of(cls, worker: WorkerSettings) -> Self:
        """Take what every worker is told."""
        return cls(worker_id=worker.worker_id, pool=worker.pool, concurrency=worker.concurrency)
