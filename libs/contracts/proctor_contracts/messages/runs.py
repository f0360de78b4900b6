"""Facts about whole runs, and what workers and replicas tell each other in passing."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal
from uuid import UUID

from typing_extensions import override

from proctor_contracts.base import Wire
from proctor_contracts.enums import RunMode, RunStatus, Trigger
from proctor_contracts.summary import RunSummary
from proctor_contracts.topology import CONTROL, EVENTS, LIVE, Exchange, live_key

from .base import RunMessage

__all__ = ["LiveEvent", "LiveHint", "RunCancelled", "RunCompleted", "Transient", "WorkerHeartbeat"]


class RunCompleted(RunMessage):
    """A run reached its end; exactly one per run."""

    exchange: ClassVar[Exchange] = EVENTS

    account_id: UUID
    integration_id: UUID
    status: RunStatus
    mode: RunMode = RunMode.CASE
    trigger: Trigger = Trigger.MANUAL
    compare_run_id: UUID | None = None
    prompt_overridden: bool = False
    schedule_id: UUID | None = None
    confirms_run_id: UUID | None = None
    completed_at: datetime
    summary: RunSummary

    @override
    def key(self) -> str:
        """Route to scheduler and alerter."""
        return "run.completed"

    @override
    def id(self) -> str:
        """Name the fact after its run."""
        return f"{self.run_id}:completed"


class Transient(Wire):
    """A message that may be lost: nobody waits for it and nothing is decided by its absence alone."""

    exchange: ClassVar[Exchange]

    v: int = 1

    def key(self) -> str:
        """The routing key."""
        raise NotImplementedError


class RunCancelled(Transient):
    """Drop the jobs of these runs; `worker_id` is set when it answers one starting worker."""

    exchange: ClassVar[Exchange] = CONTROL

    type: Literal["run.cancelled"] = "run.cancelled"
    run_ids: tuple[UUID, ...]
    worker_id: str | None = None

    @override
    def key(self) -> str:
        """Broadcast."""
        return "run.cancelled"


class WorkerHeartbeat(Transient):
    """A worker is alive and holds these jobs; `starting` asks for the runs cancelled in the last 24 hours."""

    exchange: ClassVar[Exchange] = CONTROL

    type: Literal["worker.heartbeat"] = "worker.heartbeat"
    worker_id: str
    service: Literal["runner", "judge"]
    pool: str = "default"
    concurrency: int
    in_flight: tuple[str, ...] = ()
    starting: bool = False
    stopping: bool = False
    at: datetime

    @override
    def key(self) -> str:
        """Broadcast."""
        return "worker.heartbeat"


class LiveHint(Transient):
    """There are rows up to `seq` among this run's events."""

    exchange: ClassVar[Exchange] = LIVE

    type: Literal["live.hint"] = "live.hint"
    run_id: UUID
    seq: int

    @override
    def key(self) -> str:
        """Route by run."""
        return live_key(self.run_id)


class LiveEvent(Transient):
    """Something worth watching that nobody must receive, such as `case.started`."""

    exchange: ClassVar[Exchange] = LIVE

    type: Literal["live.event"] = "live.event"
    run_id: UUID
    event: str
    data: dict[str, Any]

    @override
    def key(self) -> str:
        """Route by run."""
        return live_key(self.run_id)
