"""One API process: use cases, pipeline, HTTP server, put together and started in order."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor

from proctor_chassis.bus.build import bus_from
from proctor_chassis.clock import Clock, SystemClock
from proctor_chassis.metrics import Meters, prometheus_meters
from proctor_chassis.secrets import Redactor, Secrets
from proctor_grading.detector import installed_detector
from proctor_grading.regex import QuickJsRegex
from proctor_llm.door import SecretSource
from proctor_llm.prices import Prices
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database, StoreUnavailable

from .app import create_app
from .consuming import Consumers
from .meta import LazyModels, LlmMeta
from .pipeline.assembly import Pipeline
from .probes import Probes
from .retention.worker import Retention
from .server import HttpServer
from .settings import ApiSettings
from .wiring import Foundations, Services

__all__ = ["ApiProcess"]

GRACE_SECONDS = 20.0
PATIENCE_SECONDS = 10.0
RETRY_SECONDS = 1.0
_log = logging.getLogger(__name__)


class ApiProcess:
    """The API on a database and a broker that it shares with others.

    `ended` is set when the process cannot go on; `stop` then raises why.
    """

    def __init__(
        self,
        *,
        settings: ApiSettings,
        prices: Prices,
        secrets: SecretSource | None = None,
        clock: Clock | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.ended = asyncio.Event()
        self._settings = settings
        self._clock = clock = clock or SystemClock()
        self._patience = patience_seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="regex")
        counted = prometheus_meters({"service": "api"})
        meters = Meters() if counted is None else counted.meters
        self._database = Database(
            create_engine(
                settings.database.url or "",
                pool_size=settings.database.connections,
                overflow=settings.database.connections,
                transaction_pooler=settings.database.transaction_pooler,
            )
        )
        owner = f"{settings.owner}-{os.getpid()}"
        self._bus = bus_from(
            settings.bus,
            meters=meters,
            registry=None if counted is None else counted.registry,
            name="proctor api",
        )
        self._consumers = Consumers(services=lambda: self._services, meters=meters)
        self._pipeline = Pipeline(
            database=self._database,
            bus=self._bus,
            prices=prices,
            clock=clock.now,
            meters=meters,
            pools=settings.pools,
            owner=owner,
            alone=False,
            given_up=self._consumers.given_up,
        )
        self._models = LazyModels(
            settings=settings.llm,
            rules=settings.egress,
            secrets=secrets or Secrets(environ={}, embedded=False, redactor=Redactor()),
            meters=meters,
        )
        self._services = Services(
            Foundations(
                database=self._database,
                clock=clock.now,
                monotonic=time.monotonic,
                settler=self._pipeline.settler,
                hub=self._pipeline.hub,
                announce=self._pipeline.announce,
                prices=prices,
                judge=settings.judge,
                pools=settings.pools,
                regex=QuickJsRegex(),
                executor=self._thread,
                languages=installed_detector(),
                meta=LlmMeta(settings=settings.meta, models=self._models),
                categories=settings.categories,
                pool_by_provider=settings.pool_by_provider,
            )
        )
        self._retention = (
            None
            if settings.retention is None
            else Retention(
                database=self._database,
                runs=self._services.runs,
                results=self._services.results,
                settings=settings.retention,
                clock=clock,
                meters=meters,
                owner=owner,
            )
        )
        probes = Probes(
            database=self._database,
            bus=self._bus,
            observe=self._pipeline.observe,
            expose=None if counted is None else counted.expose,
        )
        self._server = HttpServer(create_app(self._services, probes), settings.http)
        self._working: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Begin to work and to answer; returns the port.

        A missing database delays the work, not the answers: requests get 503 until it is there.

        Raises:
            SettingsError: when the address cannot be had.
        """
        self._working = asyncio.create_task(self._work(), name="work")
        await asyncio.wait({self._working}, timeout=self._patience)
        self._working.add_done_callback(self._worked)
        port = await self._server.start()
        _log.info("service.started", extra={"host": self._settings.http.host, "port": port})
        return port

    async def stop(self) -> None:
        """Take no more work, finish what is in hand, and let go of everything."""
        if self._working is not None:
            self._working.cancel()
        await self._bus.pause()
        if self._retention is not None:
            await self._retention.stop()
        await self._server.stop()
        await self._pipeline.stop()
        await self._services.authenticator.aclose()
        await self._bus.stop(grace_seconds=GRACE_SECONDS)
        await self._models.aclose()
        await self._database.close()
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._working is not None and self._working.done() and not self._working.cancelled():
            await self._working

    async def _work(self) -> None:
        while self._settings.auto_migrate:
            try:
                await upgrade_database(self._database)
                break
            except StoreUnavailable as error:
                _log.warning("database_away", extra={"reason": str(error)})
                await self._clock.sleep(RETRY_SECONDS)
        self._pipeline.start()
        subscriptions = (*self._pipeline.subscriptions(), *self._consumers.subscriptions())
        await self._bus.start(subscriptions, self._pipeline.listeners())
        if self._retention is not None:
            self._retention.start()

    def _worked(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.ended.set()
