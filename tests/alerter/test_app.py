"""The alerter put together: from a completed run on the bus to a request at a receiver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proctor_alerter.settings import AlerterSettings, Webhook
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.egress import Operator
from proctor_contracts.alerts import WebhookFormat
from proctor_contracts.enums import RunStatus
from proctor_contracts.messages import RunCompleted
from proctor_contracts.summary import RunSummary
from proctor_contracts.topology import ALERTER_RUNS
from tests.alerter.world import KEY, World, open_world
from tests.support.manual_clock import EPOCH
from tests.support.until import until
from tests.support.webhooks import WebhookServer


@pytest.fixture
async def hooks() -> AsyncIterator[WebhookServer]:
    async with WebhookServer() as server:
        yield server


@pytest.fixture(params=["sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path, hooks: WebhookServer) -> AsyncIterator[World]:
    url = f"{hooks.url}/alerts"
    webhook = Webhook(url=url, format=WebhookFormat.JSON, rules=Operator().allowing(url), key=KEY)
    async with open_world(request, tmp_path, settings=AlerterSettings(webhook=webhook)) as made:
        yield made


async def test_a_run_that_got_worse_is_posted_once_however_often_it_is_heard_of(
    world: World, hooks: WebhookServer
) -> None:
    await world.history({"Мова": [100] * 10})
    run = await world.run({"Мова": [0] * 10})
    bus, service = InProcessBus(), world.alerter
    assert service.subscriptions()[0].queue == ALERTER_RUNS
    await service.start()
    await bus.start(service.subscriptions(), service.listeners())
    for _ in range(3):
        await bus.publish(
            RunCompleted(
                run_id=run,
                account_id=world.account,
                integration_id=world.integration,
                status=RunStatus.COMPLETED,
                completed_at=EPOCH,
                summary=RunSummary(),
            )
        )
    await until(lambda: bool(hooks.calls))
    await bus.stop(grace_seconds=5)
    await service.drain(seconds=5)
    (call,) = hooks.calls
    (delivery,) = await world.deliveries()
    assert (call.method, call.path, call.body["runId"]) == ("POST", "/alerts", str(run))
    assert call.headers["webhook-id"] == str(delivery.id)
    assert (delivery.state, delivery.tries) == ("delivered", 1)
    assert service.problem() is None


async def test_it_starts_once_the_schema_is_there_and_stops_while_it_waits(world: World) -> None:
    service = world.alerter
    async with world.database.transaction() as unit:
        await unit.connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0003'")
    starting = asyncio.create_task(service.start())
    await world.clock.next()
    assert not starting.done()
    async with world.database.transaction() as unit:
        await unit.connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0004'")
    await world.clock.next()
    await starting
