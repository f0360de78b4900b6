"""Liveness, readiness and figures."""

from __future__ import annotations

from typing import Any

import pytest

from proctor_api.probes import OUTBOX_LIMIT, Probes
from proctor_chassis.metrics import prometheus_meters
from proctor_store.repositories import outbox
from proctor_store.session import Database, StoreUnavailable
from tests.api.conftest import Api, QuietBus


async def probe(api: Api, path: str) -> tuple[int, dict[str, Any]]:
    response = await api.client.get(path)
    return response.status_code, response.json()


async def test_a_healthy_api_says_so_without_a_key(api: Api) -> None:
    assert await probe(api, "/healthz") == (200, {"status": "ok"})
    assert await probe(api, "/readyz") == (
        200,
        {"status": "ready", "database": "up", "broker": "up", "outbox": 0},
    )


async def test_a_missing_broker_only_delays(api: Api, bus: QuietBus) -> None:
    bus.connected = False
    status, facts = await probe(api, "/readyz")
    assert (status, facts["broker"], facts["database"]) == (200, "down", "up")


async def test_a_missing_database_or_a_full_outbox_is_503(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = OUTBOX_LIMIT

    async def count(_unit: object) -> int:
        return waiting

    monkeypatch.setattr(outbox, "count", count)
    assert (await probe(api, "/readyz"))[0] == 200
    waiting += 1
    assert await probe(api, "/readyz") == (
        503,
        {"status": "not_ready", "database": "up", "broker": "up", "outbox": OUTBOX_LIMIT + 1},
    )

    def away(*_: Any) -> Any:
        raise StoreUnavailable("away")

    monkeypatch.setattr(Database, "reading", away)
    status, facts = await probe(api, "/readyz")
    assert (status, facts["database"]) == (503, "down")
    assert (await probe(api, "/healthz"))[0] == 200


async def test_figures_are_refreshed_before_they_are_shown_and_shown_when_they_cannot_be(
    database: Database, bus: QuietBus
) -> None:
    counted = prometheus_meters()
    assert counted is not None
    meters = counted.meters

    async def observe() -> None:
        meters.outbox_rows.set(7)

    async def fail() -> None:
        raise StoreUnavailable("away")

    text = await Probes(database=database, bus=bus, observe=observe, expose=counted.expose).metrics()
    assert b"proctor_outbox_rows 7.0" in text
    text = await Probes(database=database, bus=bus, observe=fail, expose=counted.expose).metrics()
    assert b"proctor_outbox_rows 7.0" in text
    assert await Probes(database=database, bus=bus).metrics() == b""


async def test_metrics_are_served_as_prometheus_reads_them(api: Api) -> None:
    response = await api.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "proctor_outbox_rows" in response.text
