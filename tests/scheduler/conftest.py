"""An embedded database with a clock that tests move: it has one owner, whose clock is its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.session import Database
from tests.scheduler.world import World
from tests.support.manual_clock import ManualClock


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'proctor.db'}"))
    await upgrade_database(database)
    try:
        yield World(database, ManualClock())
    finally:
        await database.close()
