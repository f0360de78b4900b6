"""The pipeline on PostgreSQL and RabbitMQ: what it shares with the embedded one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proctor_chassis.bus.rabbit import RabbitBus
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database
from tests.api.pipeline.behaviour import *  # noqa: F403 - the suite is collected here
from tests.api.pipeline.gate_behaviour import *  # noqa: F403 - as above
from tests.support.platform import Platform, open_platform

pytestmark = pytest.mark.real


@pytest.fixture
async def platform(database_url: str, amqp_url: str) -> AsyncIterator[Platform]:
    database = Database(create_engine(database_url))
    await upgrade_database(database)
    bus, workers = RabbitBus(amqp_url, name="api"), RabbitBus(amqp_url, name="workers")
    async with open_platform(database, bus, workers=workers, alone=False) as platform:
        yield platform
        await workers.stop(grace_seconds=0)
        await bus.stop(grace_seconds=0)
    await database.close()
