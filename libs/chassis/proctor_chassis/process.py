"""The life of one service in a process of its own: settings, log, bus, probes, signals, a clean end."""

from __future__ import annotations

import asyncio
import errno
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from .bus import Bus, Listener, Subscription
from .bus.build import bus_from
from .clock import Clock, SystemClock
from .health import HealthServer, bus_problem
from .lifecycle import run_service
from .logging import configure
from .loop import run
from .metrics import Meters, prometheus_meters
from .secrets import Redactor
from .settings import BusSettings, HttpSettings, LogSettings, SettingsError, WorkerSettings

__all__ = ["Needy", "Parts", "Service", "run_process", "serve"]

_log = logging.getLogger(__name__)
_CLOSING_SECONDS = 10.0


class Service(Protocol):
    """What runs in a process; made by its package's `create_…` function."""

    def subscriptions(self) -> Sequence[Subscription]:
        """The queues it works on."""
        ...

    def listeners(self) -> Sequence[Listener]:
        """The broadcasts it hears."""
        ...

    async def start(self) -> None:
        """Get ready; it already hears broadcasts, and takes work after this."""
        ...

    async def drain(self, *, seconds: float) -> None:
        """Finish the work in hand, at most this long; no more comes."""
        ...

    async def stop(self) -> None:
        """Let go of everything."""
        ...


@runtime_checkable
class Needy(Protocol):
    """A service that needs more than the bus to be ready, such as a database."""

    def problem(self) -> str | None:
        """What it lacks, in one word for a probe, or None."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a process gives its service to be built from."""

    env: Mapping[str, str]
    bus: Bus
    meters: Meters
    redactor: Redactor
    clock: Clock
    worker: WorkerSettings


async def run_process(
    name: str,
    *,
    env: Mapping[str, str],
    build: Callable[[Parts], Awaitable[Service]],
    port: int,
    until: asyncio.Event | None = None,
) -> None:
    """Run a service until a signal comes (or `until`); `port` is where its probes answer by default.

    Raises:
        SettingsError: naming the variable that is missing or wrong.
    """
    redactor = Redactor()
    configure(LogSettings.from_env(env), redact=redactor.json, service=name)
    worker = WorkerSettings.from_env(env)
    counted = prometheus_meters({"service": name})
    meters = counted.meters if counted is not None else Meters()
    bus_settings = BusSettings.from_env(env).required()
    bus = bus_from(
        replace(bus_settings, pools=(*bus_settings.pools, worker.pool)),
        meters=meters,
        registry=None if counted is None else counted.registry,
        name=f"proctor {name}",
    )
    parts = Parts(env=env, bus=bus, meters=meters, redactor=redactor, clock=SystemClock(), worker=worker)
    try:
        service = await build(parts)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    expose = None if counted is None else counted.expose

    def problem() -> str | None:
        return bus_problem(bus) or (service.problem() if isinstance(service, Needy) else None)

    def probes(settings: HttpSettings) -> HealthServer:
        return HealthServer(settings, problem=problem, expose=expose)

    http = HttpSettings.from_env(env, port=port)
    health = probes(http)

    async def start() -> None:
        nonlocal health
        try:
            await health.start()
        except OSError as error:
            if error.errno != errno.EADDRINUSE or env.get("PROCTOR_HTTP_PORT"):
                raise
            # A second worker on this machine: nobody chose the port, so any other will do.
            await health.stop()
            health = probes(replace(http, port=0))
            await health.start()
        await bus.start(listeners=service.listeners())
        await service.start()
        await bus.start(service.subscriptions())
        _log.info("service.started", extra={"worker": worker.worker_id})

    async def stop() -> None:
        await bus.pause()
        await service.drain(seconds=worker.grace_seconds)
        await service.stop()
        await bus.stop(grace_seconds=_CLOSING_SECONDS)
        await health.stop()

    await run_service(start, stop, until=until)


def serve(main: Callable[[], Awaitable[None]], *, name: str) -> None:
    """Run a process's main coroutine; a wrong setting is one line on stderr and exit code 3."""

    async def awaited() -> None:
        await main()

    try:
        run(awaited())
    except SettingsError as error:
        sys.stderr.write(f"proctor serve {name}: {error}\n")
        raise SystemExit(3) from error
