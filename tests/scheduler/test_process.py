"""`python -m proctor_scheduler` on real servers: ready, without what it needs, and gone when it is told."""

from __future__ import annotations

import pytest

from proctor_store.migrate import upgrade
from tests.support.processes import service_process

pytestmark = pytest.mark.real

NOWHERE = "127.0.0.1:1"


async def test_a_process_waits_for_its_schema_gets_ready_and_ends_cleanly(
    amqp_url: str, database_url: str
) -> None:
    urls = {"PROCTOR_AMQP_URL": amqp_url, "PROCTOR_DATABASE_URL": database_url}
    async with service_process("proctor_scheduler", **urls) as process:
        await process.logged("database_not_ready")
        assert await process.probe("/readyz") == (
            503,
            '{"status": "not_ready", "problem": "database_not_ready"}',
        )
        await upgrade(database_url)
        await process.logged("service.started")
        assert await process.probe("/readyz") == (200, '{"status": "ready"}')
        status, text = await process.probe("/metrics")
        assert status == 200
        for name in ("proctor_schedule_lateness_seconds", "proctor_schedules_waiting 0.0"):
            assert name in text
        assert await process.end() == 0
        assert await process.logged("service.stopped")


async def test_a_broker_that_is_away_makes_it_alive_but_not_ready(database_url: str) -> None:
    async with service_process(
        "proctor_scheduler",
        PROCTOR_AMQP_URL=f"amqp://guest:guest@{NOWHERE}/",
        PROCTOR_DATABASE_URL=database_url,
    ) as process:
        assert (await process.probe("/healthz"))[0] == 200
        assert await process.probe("/readyz") == (503, '{"status": "not_ready", "problem": "broker_down"}')
        assert await process.end() == 0


async def test_a_database_that_is_away_makes_it_alive_but_not_ready(amqp_url: str) -> None:
    async with service_process(
        "proctor_scheduler",
        PROCTOR_AMQP_URL=amqp_url,
        PROCTOR_DATABASE_URL=f"postgresql://nobody:secret@{NOWHERE}/proctor",
    ) as process:
        line = await process.logged("database_not_ready")
        assert "secret" not in str(line)
        assert (await process.probe("/healthz"))[0] == 200
        assert (await process.probe("/readyz"))[0] == 503
        assert await process.end() == 0


@pytest.mark.parametrize("missing", ["PROCTOR_AMQP_URL", "PROCTOR_DATABASE_URL"])
async def test_a_process_without_its_settings_ends_with_one_line(missing: str) -> None:
    known = {
        "PROCTOR_AMQP_URL": f"amqp://guest:guest@{NOWHERE}/",
        "PROCTOR_DATABASE_URL": f"postgresql://nobody@{NOWHERE}/proctor",
    }
    known.pop(missing)
    async with service_process("proctor_scheduler", **known) as process:
        assert await process.running.wait() == 3
    (line,) = [event["text"] for event in process.events if "text" in event]
    assert line.startswith(f"proctor serve scheduler: {missing} is not set")
