"""A worker's probes over HTTP: is it alive, is it ready, what does it count."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from aiohttp import web

from .metrics import CONTENT_TYPE
from .settings import HttpSettings

__all__ = ["HealthServer", "bus_problem"]

_log = logging.getLogger(__name__)
Refresh = Callable[[], Awaitable[None]]


class _Watched(Protocol):
    @property
    def connected(self) -> bool: ...

    @property
    def consuming(self) -> bool: ...


def bus_problem(bus: _Watched) -> str | None:
    """Say why a worker cannot take jobs, or None when it can."""
    if not bus.connected:
        return "broker_down"
    return None if bus.consuming else "not_consuming"


class HealthServer:
    """Serves /healthz, /readyz (503 with the reason while there is a problem) and /metrics.

    `refresh` is awaited before every scrape, for gauges that must be looked up.
    """

    def __init__(
        self,
        settings: HttpSettings,
        *,
        problem: Callable[[], str | None],
        expose: Callable[[], bytes] | None = None,
        refresh: Refresh | None = None,
    ) -> None:
        self._settings = settings
        self._problem = problem
        self._expose = expose
        self._refresh = refresh
        self._runner: web.AppRunner | None = None

    async def start(self) -> int:
        """Begin to answer; returns the port."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get("/metrics", self._metrics),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._settings.host, self._settings.port)
        await site.start()
        port = int(self._runner.addresses[0][1])
        _log.info("health.listening", extra={"host": self._settings.host, "port": port})
        return port

    async def stop(self) -> None:
        """Stop answering."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _healthz(self, _request: web.Request) -> web.Response:
        return _json({"status": "ok"})

    async def _readyz(self, _request: web.Request) -> web.Response:
        problem = self._problem()
        if problem is None:
            return _json({"status": "ready"})
        return _json({"status": "not_ready", "problem": problem}, status=503)

    async def _metrics(self, _request: web.Request) -> web.Response:
        if self._expose is None:
            return web.Response(status=404, text="metrics are off: prometheus-client is not installed\n")
        if self._refresh is not None:
            try:
                async with asyncio.timeout(2):
                    await self._refresh()
            except Exception:  # noqa: BLE001 - a scrape shows what there is
                _log.warning("health.refresh_failed", exc_info=True)
        return web.Response(body=self._expose(), headers={"Content-Type": CONTENT_TYPE})


def _json(body: dict[str, str], *, status: int = 200) -> web.Response:
    return web.json_response(body, status=status)
