"""`python -m proctor_judge` on a real broker: ready, and gone when it is told."""

from __future__ import annotations

import pytest

from tests.support.processes import service_process

pytestmark = pytest.mark.real


async def test_a_process_gets_ready_and_ends_cleanly(amqp_url: str) -> None:
    async with service_process("proctor_judge", PROCTOR_AMQP_URL=amqp_url) as process:
        await process.logged("service.started")
        assert await process.probe("/readyz") == (200, '{"status": "ready"}')
        assert (await process.probe("/metrics"))[0] == 200
        assert await process.end() == 0
        assert await process.logged("service.stopped")


async def test_a_broker_that_is_away_makes_it_alive_but_not_ready() -> None:
    async with service_process(
        "proctor_judge", PROCTOR_AMQP_URL="amqp://guest:guest@127.0.0.1:1/"
    ) as process:
        assert (await process.probe("/healthz"))[0] == 200
        assert await process.probe("/readyz") == (503, '{"status": "not_ready", "problem": "broker_down"}')
        assert await process.end() == 0
