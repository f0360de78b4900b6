"""Deleting what is marked or old, in short transactions with pauses between them."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Any, Protocol

from proctor_chassis.clock import Clock
from proctor_chassis.metrics import Meters
from proctor_store.repositories import retention_rows
from proctor_store.repositories.retention_rows import Batch, Marked
from proctor_store.session import Unit

from .holding import Holding
from .pace import Pace

__all__ = ["GRACE", "Remover"]

GRACE = timedelta(minutes=2)
"""What read a run before it was marked is over after that: no statement takes longer than a minute."""

RUNS_AT_ONCE = 50


class _Remove(Protocol):
    def __call__(self, unit: Unit, after: Any, limit: int) -> Awaitable[Batch]: ...


class Remover:
    """Deletes rows at a pace; interrupted anywhere, it goes on where rows are left."""

    def __init__(self, *, holding: Holding, clock: Clock, meters: Meters, pace: Pace) -> None:
        self._holding = holding
        self._clock = clock
        self._meters = meters
        self._pace = pace
        self._paces: dict[str, Pace] = {}

    async def marked(self) -> int:
        """Delete every run that was marked a while ago; returns how many."""
        removed = 0
        while True:
            async with self._holding.batch() as unit:
                before = self._clock.now() - GRACE
                runs = await retention_rows.marked(unit, before=before, limit=RUNS_AT_ONCE)
            for run in runs:
                await self._run(run)
            removed += len(runs)
            if len(runs) < RUNS_AT_ONCE:
                return removed

    async def old(self, *, alerts: datetime | None, dead: datetime | None) -> None:
        """Delete alerts, looks and planned times from before `alerts`, dead messages from before `dead`."""
        rows = retention_rows
        if alerts is not None:
            await self._all("alerts", lambda u, _, n: rows.remove_alerts(u, before=alerts, limit=n))
            await self._all("looks", lambda u, _, n: rows.remove_looks(u, before=alerts, limit=n))
            await self._all("ticks", lambda u, _, n: rows.remove_ticks(u, before=alerts, limit=n))
        if dead is not None:
            await self._all("dead", lambda u, _, n: rows.remove_dead(u, before=dead, limit=n))

    async def _run(self, run: Marked) -> None:
        rows, key = retention_rows, run.id
        # The run's own row goes last: it says that there is something left to do.
        await self._all("results", lambda u, a, n: rows.remove_results(u, key, after=a, limit=n))
        await self._all("events", lambda u, a, n: rows.remove_events(u, key, after=a, limit=n))
        await self._all("cases", lambda u, a, n: rows.remove_cases(u, key, after=a, limit=n))
        await self._all("run", lambda u, _a, _n: rows.remove_run(u, key))
        self._meters.retention_runs.add(status=run.status)

    async def _all(self, kind: str, remove: _Remove) -> None:
        after: Any = None
        more = True
        while more:
            pace = self._paces.get(kind, self._pace)
            began = self._clock.monotonic()
            async with self._holding.batch() as unit:
                batch = await remove(unit, after, pace.rows)
            took = self._clock.monotonic() - began
            for table, count in batch.rows.items():
                if count:
                    self._meters.retention_rows.add(count, table=table)
            more, after = batch.more, batch.last
            if more:
                # What was cut short by its end says nothing of how long a full one takes.
                self._paces[kind] = pace.after(took)
            await self._clock.sleep(pace.pause(took))
