"""`python -m proctor_api`: the API on PostgreSQL and RabbitMQ."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

from proctor_chassis.bus.build import bus_from
from proctor_chassis.clock import SystemClock
from proctor_chassis.lifecycle import run_service
from proctor_chassis.logging import configure
from proctor_chassis.metrics import Meters, prometheus_meters
from proctor_chassis.process import serve
from proctor_chassis.secrets import Redactor
from proctor_chassis.settings import SettingsError
from proctor_grading.detector import installed_detector
from proctor_grading.regex import QuickJsRegex
from proctor_llm.prices import Prices
from proctor_llm.settings import LlmSettings
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database, StoreUnavailable

from .app import create_app
from .pipeline.assembly import Pipeline
from .probes import Probes
from .server import HttpServer
from .settings import ApiSettings
from .wiring import build_services

__all__ = ["main", "run"]

GRACE_SECONDS = 20.0
PATIENCE_SECONDS = 10.0
_log = logging.getLogger(__name__)


async def run(env: Mapping[str, str], *, until: asyncio.Event | None = None) -> None:
    """Serve until a signal comes (or `until`).

    A missing database delays the start of the work, not of the answers: requests get 503 until it is there.

    Raises:
        SettingsError: naming the variable that is missing or wrong.
    """
    settings = ApiSettings.from_env(env)
    prices = _prices(env)
    configure(settings.logs, redact=Redactor().json, service="api")
    counted = prometheus_meters({"service": "api"})
    meters = counted.meters if counted is not None else Meters()
    clock = SystemClock()
    told = until or asyncio.Event()
    async with AsyncExitStack() as closing:
        thread = ThreadPoolExecutor(1, thread_name_prefix="regex")
        closing.callback(thread.shutdown, wait=False, cancel_futures=True)
        database = Database(
            create_engine(
                settings.database.url or "",
                pool_size=settings.pool_size,
                overflow=settings.pool_size,
                transaction_pooler=settings.transaction_pooler,
            )
        )
        closing.push_async_callback(database.close)
        bus = bus_from(
            settings.bus,
            meters=meters,
            registry=None if counted is None else counted.registry,
            name="proctor api",
        )
        pipeline = Pipeline(
            database=database,
            bus=bus,
            prices=prices,
            clock=clock.now,
            meters=meters,
            pools=settings.pools,
            owner=f"{settings.owner}-{os.getpid()}",
            alone=False,
        )
        services = build_services(
            database=database,
            clock=clock.now,
            monotonic=time.monotonic,
            settler=pipeline.settler,
            hub=pipeline.hub,
            announce=pipeline.announce,
            prices=prices,
            judge=settings.judge,
            pools=settings.pools,
            regex=QuickJsRegex(),
            executor=thread,
            languages=installed_detector(),
        )
        probes = Probes(
            database=database,
            bus=bus,
            observe=pipeline.observe,
            expose=None if counted is None else counted.expose,
        )
        server = HttpServer(create_app(services, probes), settings.http)

        async def work() -> None:
            while settings.auto_migrate:
                try:
                    await upgrade_database(database)
                    break
                except StoreUnavailable as error:
                    _log.warning("database_away", extra={"reason": str(error)})
                    await clock.sleep(1)
            pipeline.start()
            await bus.start(pipeline.subscriptions(), pipeline.listeners())

        def failed(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and task.exception() is not None:
                told.set()

        working: asyncio.Task[None] | None = None

        async def start() -> None:
            nonlocal working
            working = asyncio.create_task(work(), name="work")
            done, _ = await asyncio.wait({working}, timeout=PATIENCE_SECONDS)
            if done:
                await working
            working.add_done_callback(
                lambda task: told.set() if task.cancelled() or task.exception() else None
            )
            port = await server.start()
            _log.info("service.started", extra={"host": settings.http.host, "port": port})

        async def stop() -> None:
            if working is not None and not working.done():
                working.cancel()
            await bus.pause()
            await server.stop()
            await pipeline.stop()
            await services.authenticator.aclose()
            await bus.stop(grace_seconds=GRACE_SECONDS)

        await run_service(start, stop, until=told)
        if working is not None and not working.cancelled():
            await working


def _prices(env: Mapping[str, str]) -> Prices:
    try:
        return Prices.load(LlmSettings.from_environ(env).price_file)
    except (ValueError, OSError) as error:
        raise SettingsError(str(error)) from error


def main() -> None:
    """Run the process."""
    serve(lambda: run(os.environ), name="api")


if __name__ == "__main__":
    main()
