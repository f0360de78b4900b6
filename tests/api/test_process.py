"""One API process on real servers, from start to stop."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from proctor_api import admin
from proctor_api.process import ApiProcess
from proctor_api.retention import worker
from proctor_api.settings import ApiSettings
from proctor_llm.prices import Prices
from proctor_store.engine import create_engine
from proctor_store.session import Database
from tests.api.conftest import case
from tests.support.until import until

pytestmark = pytest.mark.real


def settings(database_url: str, amqp_url: str, **more: str) -> ApiSettings:
    return ApiSettings.from_env(
        {"PROCTOR_DATABASE_URL": database_url, "PROCTOR_AMQP_URL": amqp_url, "PROCTOR_HTTP_PORT": "0"} | more
    )


def a_closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


async def sent(client: httpx.AsyncClient, method: str, path: str, body: Any = None) -> Any:
    response = await client.request(method, path, json=body)
    assert response.is_success, response.text
    return response.json()["data"]


def stored(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*.json.gz")]


async def test_two_replicas_start_on_an_empty_database_and_serve_one_account(
    database_url: str, amqp_url: str
) -> None:
    processes = [
        ApiProcess(settings=settings(database_url, amqp_url), prices=Prices.load(None)) for _ in range(2)
    ]
    try:
        ports = await asyncio.gather(*(process.start() for process in processes))
        await admin.create_account(database_url, "acme")
        key = (await admin.create_key(database_url, "acme")).key
        headers = {"Authorization": f"Bearer {key}"}
        one, two = (
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30)
            for port in ports
        )
        async with one, two:
            ready = (await one.get("/readyz")).json()
            assert (ready["status"], ready["database"], ready["broker"]) == ("ready", "up", "up")
            bot = await sent(
                one, "POST", "/api/integrations", {"name": "b", "provider": "openai", "model": "m"}
            )
            await sent(two, "POST", "/api/testing/cases", case(integrationId=bot["id"]))
            run = await sent(one, "POST", "/api/testing/runs", {"integrationId": bot["id"], "caseFilter": {}})
            async with two.stream("GET", f"/api/testing/runs/{run['id']}/events") as response:
                events = response.aiter_lines()
                # The run was started and is cancelled on one replica and followed on the other.
                async for line in events:
                    if line == "event: run.started":
                        break
                await sent(one, "POST", f"/api/testing/runs/{run['id']}/cancel")
                rest = [line async for line in events]
            last = json.loads(rest[-2].removeprefix("data: "))
            assert (rest[-3], last["status"]) == ("event: run.completed", "cancelled")
            figures = (await one.get("/metrics")).text
            assert 'proctor_process_info{service="api"} 1.0' in figures
    finally:
        await asyncio.gather(*(process.stop() for process in processes))


async def test_a_missing_database_is_503_and_the_process_still_stops(amqp_url: str) -> None:
    away = f"postgresql://nobody:secret@127.0.0.1:{a_closed_port()}/none"
    process = ApiProcess(settings=settings(away, amqp_url), prices=Prices.load(None), patience_seconds=0.1)
    try:
        base = f"http://127.0.0.1:{await process.start()}"
        async with httpx.AsyncClient(base_url=base, headers={"Authorization": "Bearer sk_x"}) as client:
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/readyz")).status_code == 503
            response = await client.get("/api/keys")
            assert response.status_code == 503
            assert response.headers["retry-after"]
            assert "secret" not in response.text
    finally:
        await process.stop()


async def test_a_missing_broker_only_delays(database_url: str) -> None:
    await admin.migrate(database_url)
    await admin.create_account(database_url, "brokerless")
    key = (await admin.create_key(database_url, "brokerless")).key
    away = f"amqp://guest:guest@127.0.0.1:{a_closed_port()}/"
    process = ApiProcess(
        settings=settings(database_url, away), prices=Prices.load(None), patience_seconds=0.1
    )
    try:
        base = f"http://127.0.0.1:{await process.start()}"
        async with httpx.AsyncClient(base_url=base, headers={"Authorization": f"Bearer {key}"}) as client:
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.json()["broker"]) == (200, "down")
            bot = await sent(
                client, "POST", "/api/integrations", {"name": "b", "provider": "openai", "model": "m"}
            )
            await sent(client, "POST", "/api/testing/cases", case(integrationId=bot["id"]))
            body = {"integrationId": bot["id"], "caseFilter": {}}
            assert (await sent(client, "POST", "/api/testing/runs", body))["status"] == "pending"
            assert (await client.get("/readyz")).json()["outbox"] >= 1
    finally:
        await process.stop()


async def test_one_of_two_replicas_stores_and_deletes_what_is_past_its_time(
    database_url: str, amqp_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "EVERY_SECONDS", 0.05)
    monkeypatch.setattr(worker, "AGAIN_SECONDS", 0.05)
    told = settings(database_url, amqp_url, PROCTOR_RETENTION_EXPORT=str(tmp_path))
    processes = [ApiProcess(settings=told, prices=Prices.load(None)) for _ in range(2)]
    database = Database(create_engine(database_url))
    try:
        ports = await asyncio.gather(*(process.start() for process in processes))
        await admin.create_account(database_url, "tidy")
        headers = {"Authorization": f"Bearer {(await admin.create_key(database_url, 'tidy')).key}"}
        one, two = (
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30)
            for port in ports
        )
        async with one, two:
            bot = await sent(
                one, "POST", "/api/integrations", {"name": "b", "provider": "openai", "model": "m"}
            )
            await sent(one, "POST", "/api/testing/cases", case(integrationId=bot["id"]))
            body = {"integrationId": bot["id"], "caseFilter": {}}
            runs = [(await sent(one, "POST", "/api/testing/runs", body))["id"] for _ in range(3)]
            for run in runs[:2]:
                await sent(one, "POST", f"/api/testing/runs/{run}/cancel")
            async with database.transaction() as unit:
                # Two days ago the first was cancelled, and the second is deleted since yesterday.
                for change, run in zip(
                    ("completed_at = now() - interval '2 days'", "deleted_at = now() - interval '1 day'"),
                    runs,
                    strict=False,
                ):
                    statement = text(f"UPDATE test_runs SET {change} WHERE id = CAST(:run AS uuid)")  # noqa: S608 - our own
                    await unit.connection.execute(statement, {"run": run})
            await until(lambda: len(stored(tmp_path)) == 1)
            async with asyncio.timeout(30):
                while [run["id"] for run in await sent(two, "GET", "/api/testing/runs")] != [runs[2]]:
                    pass
                figures = ""
                while 'proctor_retention_runs_total{status="cancelled"} 1.0' not in figures:
                    figures = "".join([(await each.get("/metrics")).text for each in (one, two)])
            assert figures.count('proctor_retention_exports_total{outcome="stored"} 1.0') == 1
            (file,) = stored(tmp_path)
            assert json.loads(gzip.decompress(file))["run"]["id"] == runs[0]
    finally:
        await asyncio.gather(*(process.stop() for process in processes))
        await database.close()
