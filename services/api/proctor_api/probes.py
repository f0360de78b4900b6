"""Whether the API can serve, and the figures that operators scale by."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from proctor_chassis.bus.port import Depth
from proctor_chassis.metrics import PrometheusMeters
from proctor_contracts.topology import COLLECTOR_RESULTS, DEAD_LETTERS, JUDGE_CASES, runner_queue
from proctor_store.repositories import outbox
from proctor_store.session import Database, StoreUnavailable

__all__ = ["OUTBOX_LIMIT", "Probes", "WatchedBus"]

OUTBOX_LIMIT = 50_000
PATIENCE_SECONDS = 2.0


class WatchedBus(Protocol):
    """What is looked at of the bus."""

    @property
    def connected(self) -> bool:
        """Whether messages can be sent and received now."""
        ...

    async def depth(self, queue: str) -> Depth | None:
        """Look at a queue; None when it does not exist or the broker is away."""
        ...


class Probes:
    """Looks at the database, the broker and the outbox.

    A missing broker only delays, so it makes the API unready only once the outbox holds over 50,000 messages.
    `workers` counts living workers by service and pool.
    """

    def __init__(
        self,
        *,
        database: Database,
        bus: WatchedBus,
        pools: Sequence[str],
        prometheus: PrometheusMeters | None = None,
        workers: Callable[[], Mapping[tuple[str, str], int]] = dict,
    ) -> None:
        self._database = database
        self._bus = bus
        self._queues = [
            COLLECTOR_RESULTS.name,
            JUDGE_CASES.name,
            DEAD_LETTERS.name,
            *(runner_queue(pool).name for pool in pools),
        ]
        self._prometheus = prometheus
        self._workers = workers

    async def readiness(self) -> tuple[bool, dict[str, Any]]:
        """Whether to send requests here, and how each part is."""
        waiting = await self._outbox()
        ready = waiting is not None and waiting <= OUTBOX_LIMIT
        facts: dict[str, Any] = {
            "status": "ready" if ready else "not_ready",
            "database": "down" if waiting is None else "up",
            "broker": "up" if self._bus.connected else "down",
        }
        if waiting is not None:
            facts["outbox"] = waiting
        if self._bus.connected:
            facts["queues"] = {name: depth.ready for name, depth in (await self._depths()).items()}
        return ready, facts

    async def metrics(self) -> bytes:
        """Look the gauges up and show everything; empty where nothing is counted."""
        if self._prometheus is None:
            return b""
        meters = self._prometheus.meters
        waiting = await self._outbox()
        if waiting is not None:
            meters.outbox_rows.set(waiting)
        if self._bus.connected:
            for name, depth in (await self._depths()).items():
                meters.queue_ready.set(depth.ready, queue=name)
        for (service, pool), count in self._workers().items():
            meters.workers.set(count, service=service, pool=pool)
        return self._prometheus.expose()

    async def _outbox(self) -> int | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._database.reading() as unit:
                return await outbox.count(unit)
        except (StoreUnavailable, TimeoutError):
            return None

    async def _depths(self) -> dict[str, Depth]:
        found: dict[str, Depth] = {}
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                for name in self._queues:
                    depth = await self._bus.depth(name)
                    if depth is not None:
                        found[name] = depth
        except TimeoutError:
            pass
        return found
