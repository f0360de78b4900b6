"""A run put into the archive before it is deleted; what cannot be stored is kept and tried again."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from proctor_api.auth import Caller
from proctor_api.errors import ApiError
from proctor_api.usecases.results import Results
from proctor_api.usecases.runs import Runs
from proctor_chassis.clock import Clock
from proctor_chassis.metrics import Meters
from proctor_contracts.schemas.runs import ResultView
from proctor_store.repositories import retention
from proctor_store.repositories.retention import Overdue
from proctor_store.session import StoreUnavailable

from .ages import wait_after
from .archive import Archive
from .document import compressed, written
from .holding import Elsewhere, Holding
from .pace import Pace

__all__ = ["ArchiveAway", "Exporter", "name_of"]

PAGE = 10
"""Results in memory at once: each may hold a transcript of three quarters of a megabyte an attempt."""

RENEW_SECONDS = 60.0
IN_A_ROW = 3
LONGEST_REASON = 300
_QUERY = re.compile(r"\?\S+")

log = logging.getLogger(__name__)


class ArchiveAway(Exception):
    """So many exports in a row failed that it is the archive's fault: others need not be tried now."""


def name_of(run: Overdue) -> str:
    """Where a run stands in the archive: by account, and by the month of its end."""
    return f"{run.account_id}/{run.completed_at:%Y-%m}/{run.id}.json.gz"


@dataclass(slots=True, kw_only=True)
class Exporter:
    """Stores runs as the document that their users can export."""

    runs: Runs
    results: Results
    archive: Archive
    holding: Holding
    clock: Clock
    meters: Meters
    pace: Pace
    _failed: int = field(default=0, init=False)

    async def export(self, run: Overdue) -> bool:
        """Store a run; False when that failed, and it is put off, or when it is gone by now.

        Raises:
            ArchiveAway: when this was not the first to fail.
            Elsewhere: when another replica works on.
            StoreUnavailable: when the database is away.
        """
        caller = Caller(run.account_id)
        try:
            view = await self.runs.get(caller, run.id)
            await self.archive.store(name_of(run), compressed(written(view, self._pages(caller, run))))
        except (Elsewhere, StoreUnavailable):
            raise
        except ApiError:
            return False
        except Exception as error:  # noqa: BLE001 - whatever an archive may raise, the run is kept and said so
            await self._put_off(run, error)
            return False
        self._failed = 0
        self.meters.retention_exports.add(outcome="stored")
        return True

    async def _pages(self, caller: Caller, run: Overdue) -> AsyncIterator[tuple[ResultView, ...]]:
        """Read the results with pauses, and say now and then that this replica is still at it."""
        renewed = began = self.clock.monotonic()
        async for page in self.results.pages(caller, run.id, take=PAGE):
            yield page
            now = self.clock.monotonic()
            await self.clock.sleep(self.pace.pause(now - began))
            if now - renewed >= RENEW_SECONDS:
                await self.holding.keep()
                renewed = now
            began = self.clock.monotonic()

    async def _put_off(self, run: Overdue, error: Exception) -> None:
        failures = run.export_failures + 1
        again = self.clock.now() + wait_after(failures)
        # An address may carry what signs it.
        reason = _QUERY.sub("?…", f"{type(error).__name__}: {error}")[:LONGEST_REASON]
        async with self.holding.batch() as unit:
            await retention.put_off(unit, run.id, failures=failures, until=again)
        self.meters.retention_exports.add(outcome="failed")
        log.warning(
            "retention.export_failed",
            extra={"run_id": str(run.id), "failures": failures, "again_at": again.isoformat(), "why": reason},
        )
        self._failed += 1
        if self._failed >= IN_A_ROW:
            self._failed = 0
            raise ArchiveAway
