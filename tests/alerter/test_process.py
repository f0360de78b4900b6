"""`python -m proctor_alerter` on real servers: ready, and gone when it is told."""

from __future__ import annotations

import pytest

from proctor_store.migrate import upgrade
from tests.support.processes import service_process

pytestmark = pytest.mark.real


async def test_a_process_waits_for_the_schema_gets_ready_and_ends_cleanly(
    amqp_url: str, database_url: str
) -> None:
    async with service_process(
        "proctor_alerter", PROCTOR_AMQP_URL=amqp_url, PROCTOR_DATABASE_URL=database_url
    ) as process:
        await process.logged("database_not_ready")
        assert (await process.probe("/healthz"))[0] == 200
        assert await process.probe("/readyz") == (
            503,
            '{"status": "not_ready", "problem": "database_not_ready"}',
        )
        await upgrade(database_url)
        await process.logged("service.started")
        assert await process.probe("/readyz") == (200, '{"status": "ready"}')
        status, metrics = await process.probe("/metrics")
        assert status == 200
        assert "proctor_oldest_delivery_seconds 0.0" in metrics
        assert await process.end() == 0
        assert await process.logged("service.stopped")


async def test_a_database_that_is_away_makes_it_alive_but_not_ready(amqp_url: str) -> None:
    away = "postgresql://nobody:nothing@127.0.0.1:1/none"
    async with service_process(
        "proctor_alerter", PROCTOR_AMQP_URL=amqp_url, PROCTOR_DATABASE_URL=away
    ) as process:
        await process.logged("database_not_ready")
        assert (await process.probe("/healthz"))[0] == 200
        assert await process.probe("/readyz") == (
            503,
            '{"status": "not_ready", "problem": "database_not_ready"}',
        )
        assert await process.end() == 0


async def test_a_broker_that_is_away_makes_it_alive_but_not_ready(database_url: str) -> None:
    await upgrade(database_url)
    async with service_process(
        "proctor_alerter",
        PROCTOR_AMQP_URL="amqp://guest:guest@127.0.0.1:1/",
        PROCTOR_DATABASE_URL=database_url,
    ) as process:
        assert (await process.probe("/healthz"))[0] == 200
        assert await process.probe("/readyz") == (503, '{"status": "not_ready", "problem": "broker_down"}')
        assert await process.end() == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROCTOR_DATABASE_URL", ""),
        ("TESTING_REGRESSION_DELTA", "much"),
        ("TESTING_REGRESSION_WEBHOOK_URL", "hooks.example"),
    ],
)
async def test_a_wrong_setting_is_one_line_and_an_end(
    amqp_url: str, database_url: str, name: str, value: str
) -> None:
    env = {"PROCTOR_AMQP_URL": amqp_url, "PROCTOR_DATABASE_URL": database_url, name: value}
    async with service_process("proctor_alerter", **env) as process:
        assert await process.running.wait() == 3
    (line,) = process.events
    assert line["text"].startswith(f"proctor serve alerter: {name}")
