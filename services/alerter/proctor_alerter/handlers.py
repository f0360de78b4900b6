"""What the alerter does with a completed run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from proctor_chassis.bus import Meta
from proctor_chassis.logging import bind
from proctor_chassis.outage import Outage
from proctor_contracts.messages import RunCompleted
from proctor_store.conflicts import Vanished
from proctor_store.repositories import looks
from proctor_store.repositories.looks import RunFacts
from proctor_store.session import Database

from .confirming import Confirming
from .looking import Looking
from .noticing import Noticing

__all__ = ["Handlers"]

_log = logging.getLogger(__name__)


class Handlers:
    """Takes completed runs off the queue of the alerter, those of one integration in the order they come.

    What a run was is read from its row, which a message may be behind.
    """

    def __init__(
        self,
        *,
        database: Database,
        looking: Looking,
        confirming: Confirming,
        noticing: Noticing,
        outage: Outage,
    ) -> None:
        self._database = database
        self._looking = looking
        self._confirming = confirming
        self._noticing = noticing
        self._outage = outage
        self._turns: dict[UUID, tuple[asyncio.Lock, int]] = {}

    async def run_completed(self, message: RunCompleted, meta: Meta) -> None:
        """Look at the run, settle what it confirms, and tell of its schedule's runs in a row.

        Raises:
            RetryLater: when the database is away.
        """
        with bind(run=message.run_id):
            async with self._turn(message.integration_id):
                with self._outage.again_later():
                    await self._act(message.run_id)
            _log.info("run.completed", extra={"status": message.status, "delivery": meta.delivery})

    async def _act(self, run_id: UUID) -> None:
        async with self._database.reading() as unit:
            run = await looks.facts(unit, run_id)
        if run is None:
            _log.info("run.gone")
            return
        try:
            await self._judge(run)
            await self._noticing.ended(run)
        except Vanished:
            _log.info("run.gone")

    async def _judge(self, run: RunFacts) -> None:
        if run.confirms_run_id is not None:
            await self._confirming.completed(run)
        elif run.comparable:
            await self._looking.look(run)

    @asynccontextmanager
    async def _turn(self, integration_id: UUID) -> AsyncIterator[None]:
        """Wait for those of the same integration that came before; locks are fair."""
        lock, waiting = self._turns.get(integration_id, (asyncio.Lock(), 0))
        self._turns[integration_id] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._turns[integration_id]
            if waiting == 1:
                del self._turns[integration_id]
            else:
                self._turns[integration_id] = (lock, waiting - 1)
