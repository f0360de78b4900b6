from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest

from proctor_chassis.health import HealthServer, bus_problem
from proctor_chassis.settings import HttpSettings


@dataclass
class Watched:
    connected: bool = True
    consuming: bool = True


@dataclass
class Probes:
    url: str
    bus: Watched
    refreshed: list[str]
    client: aiohttp.ClientSession

    async def get(self, path: str) -> tuple[int, str]:
        async with self.client.get(self.url + path) as response:
            return response.status, await response.text()


@pytest.fixture
async def probes() -> AsyncIterator[Probes]:
    bus, refreshed = Watched(), []

    async def refresh() -> None:
        refreshed.append("yes")
        if len(refreshed) > 1:
            raise ValueError("the broker is away")

    server = HealthServer(
        HttpSettings(port=0),
        problem=lambda: bus_problem(bus),
        expose=lambda: b"proctor_up 1\n",
        refresh=refresh,
    )
    port = await server.start()
    async with aiohttp.ClientSession() as client:
        yield Probes(f"http://127.0.0.1:{port}", bus, refreshed, client)
    await server.stop()


async def test_a_process_that_answers_is_alive(probes: Probes) -> None:
    probes.bus.connected = False
    assert await probes.get("/healthz") == (200, '{"status": "ok"}')


async def test_a_worker_is_ready_while_it_consumes(probes: Probes) -> None:
    assert await probes.get("/readyz") == (200, '{"status": "ready"}')
    probes.bus.consuming = False
    assert await probes.get("/readyz") == (503, '{"status": "not_ready", "problem": "not_consuming"}')
    probes.bus.connected = False
    assert await probes.get("/readyz") == (503, '{"status": "not_ready", "problem": "broker_down"}')


async def test_metrics_are_refreshed_and_shown_even_when_refreshing_fails(probes: Probes) -> None:
    assert await probes.get("/metrics") == (200, "proctor_up 1\n")
    assert await probes.get("/metrics") == (200, "proctor_up 1\n")
    assert len(probes.refreshed) == 2


async def test_without_a_client_library_there_are_no_metrics() -> None:
    server = HealthServer(HttpSettings(port=0), problem=lambda: None)
    port = await server.start()
    async with aiohttp.ClientSession() as client, client.get(f"http://127.0.0.1:{port}/metrics") as response:
        assert response.status == 404
    await server.stop()


async def test_stopping_what_never_started_is_fine() -> None:
    await HealthServer(HttpSettings(port=0), problem=lambda: None).stop()
