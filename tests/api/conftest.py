"""The API in this process: real use cases and database, a clock that stands still, nobody on the bus."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from json import dumps
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio

from proctor_api.app import create_app
from proctor_api.auth import Caller
from proctor_api.pipeline.dispatch import Dispatcher
from proctor_api.pipeline.hub import Hub
from proctor_api.pipeline.settle import Settler
from proctor_api.probes import Probes
from proctor_api.usecases.accounts import AccountLimits
from proctor_api.usecases.meta import MetaFailed
from proctor_api.wiring import Foundations, Services
from proctor_chassis.metrics import Meters, prometheus_meters
from proctor_contracts.enums import KeyKind
from proctor_contracts.schemas.integrations import KeyCreate
from proctor_grading.regex import QuickJsRegex
from proctor_llm.prices import Prices
from proctor_store import migrate
from proctor_store.engine import create_engine
from proctor_store.session import Database


class Time:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 5, 4, 12, tzinfo=UTC)
        self.seconds = 1_000.0

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.seconds

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds
        self.moment += timedelta(seconds=seconds)


class QuietBus:
    """A broker that can be away; nobody listens."""

    def __init__(self) -> None:
        self.connected = True
        self.sent: list[object] = []

    async def announce(self, message: object) -> None:
        self.sent.append(message)


class ScriptedMeta:
    """A meta model that answers as it was told, and remembers what it was shown."""

    def __init__(self) -> None:
        self.reply: str | MetaFailed = MetaFailed("no meta model is set")
        self.shown: list[tuple[str, str]] = []

    async def ask(self, *, instructions: str, data: str, max_tokens: int = 4_000) -> str:  # noqa: ARG002 - as it is asked
        self.shown.append((instructions, data))
        if isinstance(self.reply, MetaFailed):
            raise self.reply
        return self.reply


class Api:
    """A client with a private key of a fresh account."""

    def __init__(self, client: httpx.AsyncClient, services: Services, caller: Caller, key: str) -> None:
        self.client = client
        self.services = services
        self.caller = caller
        self.key = key

    async def __call__(
        self, method: str, path: str, json: Any = None, *, key: str | None = None, **more: Any
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}"} | more.pop("headers", {})
        if json is not None:
            # The test client would refuse to send what the API has to refuse.
            more["content"] = dumps(json).encode()
            headers = {"Content-Type": "application/json"} | headers
        return await self.client.request(method, f"/api{path}", headers=headers, **more)

    async def data(self, method: str, path: str, json: Any = None, *, status: int = 200, **more: Any) -> Any:
        response = await self(method, path, json, **more)
        assert response.status_code == status, response.text
        return response.json()["data"]

    async def problem(
        self, method: str, path: str, json: Any = None, *, status: int = 400, **more: Any
    ) -> dict[str, Any]:
        response = await self(method, path, json, **more)
        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/problem+json"
        problem: dict[str, Any] = response.json()
        assert problem["status"] == status
        assert problem["requestId"] == response.headers["x-request-id"]
        return problem

    async def another(self, name: str) -> Api:
        """The same API as another account sees it."""
        caller, key = await new_account(self.services, name)
        return Api(self.client, self.services, caller, key)

    async def public_key(self) -> str:
        return (await self.services.keys.create(self.caller, KeyCreate(kind=KeyKind.PUBLIC))).key

    async def integration(self, name: str = "bot", **more: Any) -> str:
        body = {"name": name, "provider": "openai", "model": "m", **more}
        return str((await self.data("POST", "/integrations", body, status=201))["id"])


async def new_account(services: Services, name: str) -> tuple[Caller, str]:
    account = await services.accounts.create(f"{name}-{uuid4()}", AccountLimits())
    caller = Caller(account.id)
    return caller, (await services.keys.create(caller, KeyCreate())).key


def case(**more: Any) -> dict[str, Any]:
    """A case body that saves; `more` replaces fields."""
    return {
        "name": "Вітання",
        "category": "Мова",
        "input": {"kind": "scripted_single", "message": "Привіт, пане Рамосу!"},
        "assertions": [{"kind": "contains", "value": "Вітаю"}],
    } | more


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def meta() -> ScriptedMeta:
    return ScriptedMeta()


@pytest.fixture
def bus() -> QuietBus:
    return QuietBus()


@pytest.fixture(scope="session")
def pattern_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


BOTH = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.real)], indirect=True
)
"""Marks a module whose tests run on both databases."""


@pytest_asyncio.fixture
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A migrated database: SQLite, or PostgreSQL where a test is parametrized with `BOTH`."""
    if getattr(request, "param", "sqlite") == "postgresql":
        url = request.getfixturevalue("database_url")
    else:
        url = f"sqlite:///{tmp_path / 'proctor.db'}"
    database = Database(create_engine(url))
    await migrate.upgrade_database(database)
    yield database
    await database.close()


@pytest.fixture
def hub() -> Hub:
    return Hub()


@pytest_asyncio.fixture
async def services(  # noqa: PLR0917 - pytest gives fixtures by name
    database: Database,
    time: Time,
    bus: QuietBus,
    hub: Hub,
    meta: ScriptedMeta,
    pattern_thread: ThreadPoolExecutor,
) -> AsyncIterator[Services]:
    prices = Prices.load(None)
    settler = Settler(
        dispatcher=Dispatcher(prices=prices, pool_concurrency=lambda _pool: None),
        prices=prices,
        clock=time.now,
        wake=lambda: None,
        hint=lambda _hints: None,
        meters=Meters(),
    )
    services = Services(
        Foundations(
            database=database,
            clock=time.now,
            monotonic=time.monotonic,
            settler=settler,
            hub=hub,
            announce=bus.announce,
            prices=prices,
            judge=None,
            pools=("default", "high"),
            regex=QuickJsRegex(),
            executor=pattern_thread,
            meta=meta,
        )
    )
    yield services
    await services.authenticator.aclose()


@pytest_asyncio.fixture
async def api(services: Services, database: Database, bus: QuietBus) -> AsyncIterator[Api]:
    counted = prometheus_meters()
    assert counted is not None
    probes = Probes(database=database, bus=bus, expose=counted.expose)
    app = create_app(services, probes, heartbeat_seconds=0.01)
    transport = httpx.ASGITransport(app=app)
    caller, key = await new_account(services, "acme")
    async with httpx.AsyncClient(transport=transport, base_url="http://proctor.test") as client:
        yield Api(client, services, caller, key)
