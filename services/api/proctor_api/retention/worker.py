"""Retention beside everything else: look every few minutes, mark what is past its time, delete."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from proctor_api.usecases.results import Results
from proctor_api.usecases.runs import Runs
from proctor_chassis.clock import Clock
from proctor_chassis.metrics import Meters
from proctor_contracts.schedules import Notifications
from proctor_store.repositories import retention, schedules
from proctor_store.repositories.retention import Cutoffs, Overdue, Place
from proctor_store.session import Database, StoreUnavailable, Unit

from .ages import looked_back
from .exporting import ArchiveAway, Exporter
from .holding import Elsewhere, Holding
from .pace import EMBEDDED, SERVER
from .removing import Remover
from .settings import RetentionSettings

__all__ = ["Retention"]

EVERY_SECONDS = 300.0
AGAIN_SECONDS = 5.0
"""Until the next look when the last one left something."""

MOST_MARKED = 500
LONGEST_LOOK = 600.0
"""Runs marked and seconds spent on that in one look, so that what is marked is not kept waiting."""

RUNS_AT_ONCE = 100

log = logging.getLogger(__name__)


class Moment(Protocol):
    """Reads the database's time; where it has none of its own, that is `clock`."""

    async def __call__(self, unit: Unit, /, *, clock: datetime) -> datetime:
        """Read it."""
        ...


class Retention:
    """Deletes what is past its time, one replica at a time.

    A run is stored in the archive if there is one, then marked, which takes it from everybody's sight, and
    deleted by a later look in small batches. Whatever is interrupted goes on at the next look.

    What is deleted does not come back, so the earlier of two clocks says how old a run is: this process's and
    the database's, which `moment` reads.
    """

    def __init__(
        self,
        *,
        database: Database,
        runs: Runs,
        results: Results,
        settings: RetentionSettings,
        clock: Clock,
        meters: Meters,
        owner: str,
        moment: Moment = schedules.moment,
    ) -> None:
        self._moment = moment
        self._database = database
        self._ages = settings.ages
        self._clock = clock
        self._meters = meters
        self._holding = Holding(database=database, clock=clock.now, owner=owner)
        self._pace = EMBEDDED if database.dialect == "sqlite" else SERVER
        self._remover = Remover(holding=self._holding, clock=clock, meters=meters, pace=self._pace)
        self._exporter = (
            None
            if settings.archive is None
            else Exporter(
                runs=runs,
                results=results,
                archive=settings.archive,
                holding=self._holding,
                clock=clock,
                meters=meters,
                pace=self._pace,
            )
        )
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run(), name="retention")

    async def stop(self) -> None:
        """Stop; a batch in hand is undone, and done again at the next look."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> bool:
        """Do what is due; whether something was left for the next look."""
        try:
            now = await self._observe()
            cutoffs = self._ages.cutoffs(now)
            await self._remover.marked()
            left = await self._mark_all(cutoffs, now=now)
            await self._remover.old(alerts=self._ages.alerts_before(now), dead=cutoffs.ended)
        except Elsewhere:
            return False
        return left

    async def _run(self) -> None:
        away = False
        wait = AGAIN_SECONDS
        while True:
            await self._clock.sleep(wait)
            wait = EVERY_SECONDS
            try:
                if await self.look():
                    wait = AGAIN_SECONDS
                away = False
            except StoreUnavailable as error:
                if not away:
                    log.warning("retention.database_away", extra={"reason": str(error)})
                away = True
            except Exception:
                log.exception("retention.failed")

    async def _mark_all(self, cutoffs: Cutoffs, *, now: datetime) -> bool:
        """Mark every run past its time, stored first if there is an archive; whether some are left."""
        until, marked = self._clock.monotonic() + LONGEST_LOOK, 0
        for status, _ in cutoffs.by_status():
            place: Place | None = None
            rows: Sequence[Overdue] = ()
            while place is None or len(rows) == RUNS_AT_ONCE:
                async with self._database.reading() as unit:
                    rows = await retention.overdue(
                        unit, status, cutoffs, now=now, after=place, limit=RUNS_AT_ONCE
                    )
                    used = await retention.in_use(unit) | await _noticed(unit, rows)
                for run in rows:
                    if run.id in used:
                        continue
                    try:
                        marked += await self._mark(run, cutoffs)
                    except ArchiveAway:
                        return False
                    if marked == MOST_MARKED or self._clock.monotonic() > until:
                        return True
                if not rows:
                    break
                place = rows[-1].place
        return False

    async def _mark(self, run: Overdue, cutoffs: Cutoffs) -> bool:
        if self._exporter is not None and not await self._exporter.export(run):
            return False
        began = self._clock.monotonic()
        async with self._holding.batch() as unit:
            gone = await retention.mark(unit, run.id, cutoffs, now=self._clock.now())
        if gone:
            log.info("retention.run_gone", extra={"run_id": str(run.id), "status": run.status})
        await self._clock.sleep(self._pace.pause(self._clock.monotonic() - began))
        return gone

    async def _observe(self) -> datetime:
        """Tell how late the oldest run is; returns the time that ages are counted to."""
        async with self._database.reading() as unit:
            clock = self._clock.now()
            now = min(clock, await self._moment(unit, clock=clock))
            since = await retention.oldest(unit, self._ages.cutoffs(now), now=now)
        self._meters.retention_overdue_seconds.set((now - since).total_seconds())
        return now


async def _noticed(unit: Unit, rows: Sequence[Overdue]) -> frozenset[UUID]:
    """List the runs that the notices of their schedules still look back to."""
    schedules = {row.schedule_id for row in rows if row.schedule_id is not None}
    if not schedules:
        return frozenset()
    wanted = {
        schedule: looked_back(Notifications.model_validate(each))
        for schedule, each in (await retention.notifications(unit, schedules)).items()
    }
    return await retention.newest_of(unit, wanted)
