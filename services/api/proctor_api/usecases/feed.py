"""The live events of a run: numbered rows from the database, and transient ones in passing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import not_found
from proctor_api.pipeline.hub import Hub
from proctor_contracts.enums import RunStatus
from proctor_contracts.schemas.runs import RunEvent
from proctor_store.repositories import events, runs
from proctor_store.session import Database

from .run_view import run_progress

__all__ = ["Feed"]

BATCH = 500
PROGRESS_SECONDS = 0.25
NET_SECONDS = 2.0
TERMINAL = "run.completed"


class Feed:
    """Follows runs; no database connection is held between events.

    `monotonic` bounds how often progress is told: at most four times a second.
    """

    def __init__(
        self,
        *,
        database: Database,
        hub: Hub,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        net_seconds: float = NET_SECONDS,
    ) -> None:
        self._database = database
        self._hub = hub
        self._clock = clock
        self._monotonic = monotonic
        self._net = net_seconds

    async def events(
        self, caller: Caller, run_id: UUID, *, after: int | None = None
    ) -> AsyncIterator[RunEvent]:
        """Yield a run's events after number `after` (none: all), up to and including the terminal one.

        A number that the run never reached gets one `run.resync` with the counters and the newest number, and
        goes on from there; on a run that is over it gets the terminal event.

        Raises:
            ApiError: 404, before the first event.
        """
        with self._hub.watch(run_id) as watcher:
            seq, resync = await self._position(caller, run_id, after or 0)
            if resync is not None:
                yield resync
            told = float("-inf")
            while True:
                more = True
                while more:
                    async with self._database.reading() as unit:
                        found = await events.after(unit, run_id, seq, limit=BATCH)
                    for event in found:
                        seq = event.seq
                        yield RunEvent(seq=event.seq, event=event.event, data=event.data, at=event.at)
                        if event.event == TERMINAL:
                            return
                    more = len(found) == BATCH
                    if found and self._monotonic() - told >= PROGRESS_SECONDS:
                        told = self._monotonic()
                        if (progress := await self._progress(caller, run_id)) is None:
                            return
                        yield progress
                for live in watcher.take():
                    yield RunEvent(seq=None, event=live.event, data=live.data, at=self._clock())
                if not await watcher.wait(self._net) and await self._progress(caller, run_id) is None:
                    # Deleted with its integration while we watched: there will be no terminal event.
                    return

    async def _position(self, caller: Caller, run_id: UUID, after: int) -> tuple[int, RunEvent | None]:
        async with self._database.reading() as unit:
            row = await runs.find(unit, caller.account_id, run_id)
        if row is None:
            raise not_found("run")
        newest = row["event_seq"]
        over = RunStatus(row["status"]).final
        if after < newest or (after == newest and not over):
            return after, None
        if over:
            # The terminal event is the last one, so this tells it again and ends.
            return newest - 1, None
        progress = run_progress(row, now=self._clock())
        data = progress.model_dump(mode="json", by_alias=True)
        return newest, RunEvent(seq=newest, event="run.resync", data=data, at=self._clock())

    async def _progress(self, caller: Caller, run_id: UUID) -> RunEvent | None:
        async with self._database.reading() as unit:
            row = await runs.find(unit, caller.account_id, run_id)
        if row is None:
            return None
        data = run_progress(row, now=self._clock()).model_dump(mode="json", by_alias=True)
        return RunEvent(seq=None, event="run.progress", data=data, at=self._clock())
