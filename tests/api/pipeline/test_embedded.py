"""The pipeline in one process that owns SQLite and the bus: what it shares with real servers, and its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proctor_chassis.bus.inprocess import InProcessBus
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database
from tests.api.pipeline.behaviour import *  # noqa: F403 - the suite is collected here
from tests.api.pipeline.gate_behaviour import *  # noqa: F403 - as above
from tests.support.platform import Platform, open_platform


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    yield database
    await database.close()


@pytest.fixture(params=[True, False], ids=["direct", "outbox"])
async def platform(database: Database, request: pytest.FixtureRequest) -> AsyncIterator[Platform]:
    bus = InProcessBus()
    async with open_platform(database, bus, alone=request.param) as platform:
        yield platform
        await bus.stop(grace_seconds=0)
