"""Puts the alerter together."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence

from proctor_chassis.bus import Listener, RetryLater, Subscription
from proctor_chassis.clock import Clock
from proctor_chassis.egress.door import Resolve, own_resolve
from proctor_chassis.metrics import Meters
from proctor_chassis.outage import Outage
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.messages import RunCompleted
from proctor_contracts.topology import ALERTER_RUNS
from proctor_store.migrate import wait_until_current
from proctor_store.session import Database, StoreUnavailable

from .confirming import Confirming
from .delivering import Deliverer
from .handlers import Handlers
from .looking import Looking
from .noticing import Noticing
from .sending import Sender
from .settings import AlerterSettings
from .telling import Teller

__all__ = ["AlerterService", "create_alerter"]

OVERDUE_SECONDS = 15.0
"""How often looks whose rerun cannot be had, or never came, are settled."""

log = logging.getLogger(__name__)


class AlerterService:
    """Looks at completed runs off its queue, and beside that sends what is due."""

    def __init__(
        self,
        *,
        database: Database,
        handlers: Handlers,
        confirming: Confirming,
        deliverer: Deliverer,
        sender: Sender,
        outage: Outage,
        clock: Clock,
        concurrency: int,
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._confirming = confirming
        self._deliverer = deliverer
        self._sender = sender
        self._outage = outage
        self._clock = clock
        self._concurrency = concurrency
        self._overdue: asyncio.Task[None] | None = None
        self._started = False

    def problem(self) -> str | None:
        """Say that the database or its schema was not there when last needed; runs wait meanwhile."""
        return self._outage.problem if self._started else "database_not_ready"

    def subscriptions(self) -> Sequence[Subscription]:
        """The alerter's own queue of completed runs."""
        return (
            Subscription(
                queue=ALERTER_RUNS,
                models={"run.completed": RunCompleted},
                handler=self._handlers.run_completed,
                concurrency=self._concurrency,
            ),
        )

    def listeners(self) -> Sequence[Listener]:
        """None."""
        return ()

    async def start(self) -> None:
        """Wait for the database and its schema, then begin to send."""
        await wait_until_current(self._database, sleep=self._clock.sleep)
        self._started = True
        self._deliverer.start()
        self._overdue = asyncio.create_task(self._give_up_overdue(), name="overdue-looks")

    async def drain(self, *, seconds: float) -> None:
        """Let deliveries on their way arrive."""
        await self._deliverer.drain(seconds=seconds)

    async def stop(self) -> None:
        """Stop sending; the database is its owner's to close."""
        if self._overdue is not None:
            self._overdue.cancel()
            await asyncio.gather(self._overdue, return_exceptions=True)
        await self._deliverer.stop()
        await self._sender.aclose()

    async def _give_up_overdue(self) -> None:
        while True:
            try:
                with self._outage.again_later():
                    await self._confirming.give_up_overdue()
            except RetryLater:
                pass
            except Exception:
                log.exception("overdue_looks_failed")
            await self._clock.sleep(OVERDUE_SECONDS)


def create_alerter(
    *,
    database: Database,
    settings: AlerterSettings,
    secrets: Secrets,
    redactor: Redactor,
    clock: Clock,
    meters: Meters,
    rng: random.Random,
    resolve: Resolve | None = None,
) -> AlerterService:
    """Wire the alerter on a database that its owner opens, migrates and closes.

    It needs nothing else of the process but the bus it is subscribed on, so the embedded server starts it on
    the API's database.
    """
    sender = Sender(
        settings=settings,
        secrets=secrets,
        redactor=redactor,
        clock=clock.now,
        # Looks are counted out on threads, too, and a try that timed out may leave its lookup behind.
        resolve=resolve or own_resolve(threads=2 * settings.sending),
    )
    outage = Outage("database", StoreUnavailable)
    deliverer = Deliverer(
        database=database,
        sender=sender,
        clock=clock,
        rng=rng,
        meters=meters,
        outage=outage,
        sending=settings.sending,
        each=settings.each,
    )
    teller = Teller(settings=settings, clock=clock.now, meters=meters, wake=deliverer.wake)
    confirming = Confirming(database=database, teller=teller, clock=clock.now)
    handlers = Handlers(
        database=database,
        looking=Looking(database=database, teller=teller, clock=clock.now),
        confirming=confirming,
        noticing=Noticing(database=database, teller=teller),
        outage=outage,
    )
    return AlerterService(
        database=database,
        handlers=handlers,
        confirming=confirming,
        deliverer=deliverer,
        sender=sender,
        outage=outage,
        clock=clock,
        concurrency=settings.concurrency,
    )
