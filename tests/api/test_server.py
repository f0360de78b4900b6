"""The API on a real socket: streams that cost nothing, clients that leave, a clean end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
from typing_extensions import override

from proctor_api.app import create_app
from proctor_api.pipeline.hub import Hub, Watcher
from proctor_api.probes import Probes
from proctor_api.server import HttpServer
from proctor_api.wiring import Services
from proctor_chassis.settings import HttpSettings, SettingsError
from proctor_store.session import Database
from tests.api.conftest import Api, QuietBus, case

STREAMS = 40


@pytest_asyncio.fixture
async def server(services: Services, database: Database, bus: QuietBus) -> AsyncIterator[int]:
    app = create_app(services, Probes(database=database, bus=bus))
    server = HttpServer(app, HttpSettings(host="127.0.0.1", port=0))
    port = await server.start()
    yield port
    await server.stop()


@pytest.fixture
def live(server: int, api: Api) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{server}/api",
        headers={"Authorization": f"Bearer {api.key}"},
        limits=httpx.Limits(max_connections=STREAMS * 2),
        timeout=20,
    )


async def open_stream(live: httpx.AsyncClient, run: str) -> tuple[httpx.Response, AsyncIterator[str]]:
    request = live.build_request("GET", f"/testing/runs/{run}/events")
    response = await live.send(request, stream=True)
    lines = response.aiter_lines()
    async for line in lines:
        if line == ": connected":
            break
    return response, lines


class CountedHub(Hub):
    """A hub that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = asyncio.Condition()

    @override
    @contextmanager
    def watch(self, run_id: UUID) -> Iterator[Watcher]:
        try:
            with super().watch(run_id) as watcher:
                self._tell()
                yield watcher
        finally:
            self._tell()

    async def settled(self, watching: int) -> None:
        """Wait until so many clients watch."""
        async with asyncio.timeout(10), self.changed:
            await self.changed.wait_for(lambda: self.watching == watching)

    def _tell(self) -> None:
        async def tell() -> None:
            async with self.changed:
                self.changed.notify_all()

        self.telling = asyncio.get_running_loop().create_task(tell())


@pytest.fixture
def hub() -> CountedHub:
    return CountedHub()


async def test_idle_streams_hold_no_connection_and_aborted_ones_leave_nothing_behind(
    api: Api, live: httpx.AsyncClient, hub: CountedHub, database: Database
) -> None:
    bot = await api.integration()
    await api.data("POST", "/testing/cases", case(integrationId=bot), status=201)
    run = (await api.data("POST", "/testing/runs", {"integrationId": bot, "caseFilter": {}}, status=201))[
        "id"
    ]
    async with asyncio.timeout(30), live:
        streams = [await open_stream(live, run) for _ in range(STREAMS)]
        await hub.settled(STREAMS)
        assert (await live.get("/testing/runs")).status_code == 200
        assert database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # a queue pool's
        for response, _ in streams[: STREAMS // 2]:
            await response.aclose()
        await hub.settled(STREAMS // 2)
        await live.post(f"/testing/runs/{run}/cancel")
        for _, lines in streams[STREAMS // 2 :]:
            assert "event: run.completed" in [line async for line in lines]
        await hub.settled(0)


async def test_an_address_that_is_taken_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = HttpServer(httpx.ASGITransport, HttpSettings(port=port))  # type: ignore[arg-type]  # never called
        with pytest.raises(SettingsError, match="PROCTOR_HTTP_PORT"):
            await server.start()
        await server.stop()
