"""One platform for the tests that leave its processes alive: two API replicas, two runners and a judge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.support.platform_processes import Fleet
from tests.support.rest import Rest
from tests.support.servers import fresh_amqp, fresh_database
from tools.servers.model import Servers


@dataclass
class Platform:
    """The fleet, and a client of each API replica."""

    fleet: Fleet
    one: Rest
    two: Rest


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def shared_platform(servers: Servers) -> AsyncIterator[Platform]:
    with fresh_amqp(servers) as amqp_url, fresh_database(servers) as database_url:
        async with Fleet.on(amqp_url, database_url) as fleet:
            services = ("api", "api", "runner", "runner", "judge")
            started = await asyncio.gather(*(fleet.serve(one, PROCTOR_CONCURRENCY="30") for one in services))
            first, second = started[:2]
            yield Platform(fleet, await fleet.api(first), await fleet.api(second))


@pytest.fixture
def platform(shared_platform: Platform) -> Any:
    """The platform, its bot and judge well behaved and without memories; no log may show a fault after."""
    fleet = shared_platform.fleet
    fleet.forget()
    yield shared_platform
    assert fleet.faults() == []
