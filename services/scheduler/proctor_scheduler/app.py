"""Puts the scheduler together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proctor_chassis.bus import Listener, Subscription
from proctor_chassis.clock import Clock
from proctor_chassis.metrics import Meters
from proctor_chassis.outage import Outage
from proctor_contracts.messages import RunCompleted
from proctor_contracts.topology import SCHEDULER_RUNS
from proctor_store.migrate import wait_until_current
from proctor_store.session import Database, StoreUnavailable

from .handlers import Handlers
from .recounting import Recounting
from .settings import SchedulerSettings
from .telling import Teller
from .ticking import Ticking
from .watch import Watch

__all__ = ["SchedulerService", "create_scheduler"]


class SchedulerService:
    """Looks at schedules until it is stopped, and hears of completed runs."""

    def __init__(
        self,
        *,
        database: Database,
        handlers: Handlers,
        watch: Watch,
        outage: Outage,
        clock: Clock,
        concurrency: int,
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._watch = watch
        self._outage = outage
        self._clock = clock
        self._concurrency = concurrency
        self._ready = False

    def problem(self) -> str | None:
        """Say that the database, or its schema, was not there when it was last needed; nothing fires then."""
        return self._outage.problem if self._ready else "database_not_ready"

    def subscriptions(self) -> Sequence[Subscription]:
        """The scheduler's own queue of completed runs."""
        return (
            Subscription(
                queue=SCHEDULER_RUNS,
                models={"run.completed": RunCompleted},
                handler=self._handlers.run_completed,
                concurrency=self._concurrency,
            ),
        )

    def listeners(self) -> Sequence[Listener]:
        """None."""
        return ()

    async def start(self) -> None:
        """Wait for the database and its schema, then begin to look."""
        await wait_until_current(self._database, sleep=self._clock.sleep)
        self._ready = True
        self._watch.start()

    async def drain(self, *, seconds: float) -> None:
        """Nothing: a look is short, and one that is cut off is rolled back whole."""

    async def stop(self) -> None:
        """Stop looking; the database is its owner's to close."""
        await self._watch.stop()


def create_scheduler(
    *,
    database: Database,
    clock: Clock,
    meters: Meters,
    settings: SchedulerSettings | None = None,
    wake_relay: Callable[[], None] | None = None,
) -> SchedulerService:
    """Wire the scheduler on a database that its owner opens, migrates and closes.

    It writes its messages into the outbox, and the API's relay sends them: without an API nobody could start
    their runs anyway. A process that holds both gives the relay's `wake` as `wake_relay`.
    """
    settings = settings or SchedulerSettings()
    outage = Outage("database", StoreUnavailable)
    watch = Watch(
        ticking=Ticking(
            database=database,
            clock=clock,
            teller=Teller(meters=meters),
            settings=settings,
            wake_relay=wake_relay,
        ),
        recounting=Recounting(database=database, clock=clock),
        clock=clock,
        outage=outage,
        settings=settings,
    )
    return SchedulerService(
        database=database,
        handlers=Handlers(database=database, outage=outage, freed=watch.wake),
        watch=watch,
        outage=outage,
        clock=clock,
        concurrency=settings.concurrency,
    )
