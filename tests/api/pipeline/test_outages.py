"""Real servers that go away in the middle of a run, and what the run makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing

import pytest
from sqlalchemy.engine import make_url

from proctor_chassis.bus.rabbit import RabbitBus
from proctor_contracts.enums import RunStatus
from proctor_contracts.topology import Delay
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade
from proctor_store.session import Database, StoreUnavailable
from tests.api.pipeline.behaviour import kept, recounted
from tests.support.platform import PATIENCE, Platform, case, open_platform
from tests.support.proxy import Line, line_to
from tests.support.until import until

pytestmark = pytest.mark.real
LADDER = (Delay("proctor.retry.50ms", 0.05), Delay("proctor.retry.60ms", 0.06))
POOL = 4


class World:
    """A platform whose database and broker are reached over lines that can be cut."""

    def __init__(self, platform: Platform, database: Line, broker: Line) -> None:
        self.platform = platform
        self.database = database
        self.broker = broker


@pytest.fixture
async def world(database_url: str, amqp_url: str) -> AsyncIterator[World]:
    await upgrade(database_url)
    async with AsyncExitStack() as stack:
        to_database = await stack.enter_async_context(line_to(database_url))
        to_broker = await stack.enter_async_context(line_to(amqp_url))
        database = Database(create_engine(to_database.url, pool_size=POOL, overflow=0))
        stack.push_async_callback(database.close)
        bus = RabbitBus(
            to_broker.url,
            ladder=LADDER,
            # So long that nothing below can be quick by waiting for it.
            publish_seconds=PATIENCE * 2,
            connect_seconds=5,
            retry_seconds=0.1,
        )
        workers = RabbitBus(amqp_url, ladder=LADDER, name="workers")
        stack.push_async_callback(workers.stop, grace_seconds=0)
        stack.push_async_callback(bus.stop, grace_seconds=0)
        platform = await stack.enter_async_context(open_platform(database, bus, workers=workers, alone=False))
        assert make_url(to_database.url).port != make_url(database_url).port
        yield World(platform, to_database, to_broker)


async def test_reports_wait_for_a_database_that_is_away(world: World) -> None:
    platform = world.platform
    platform.runner.holding = True
    run = await platform.start(*(case(f"{n}") for n in range(8)), concurrency=4)
    await platform.runner.holds(4)
    await world.database.down()
    platform.runner.release()
    with pytest.raises(StoreUnavailable):
        await platform.services.runs.get(platform.caller, run.id)
    await world.database.up()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED
    assert await recounted(platform, run.id) == {"passed": 8, "failed": 0, "error": 0, "cancelled": 0}
    assert await kept(platform, run.id) == await recounted(platform, run.id)


async def test_a_run_started_without_a_broker_is_played_when_it_is_back(world: World) -> None:
    platform = world.platform
    await world.broker.down()
    await until(lambda: not platform.bus.connected)
    run = await platform.start(*(case(f"{n}") for n in range(3)))
    assert run.status is RunStatus.PENDING
    await world.broker.up()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED
    assert len(platform.runner.of(run.id)) == 3


async def test_a_line_to_the_broker_that_breaks_in_mid_run_loses_and_doubles_nothing(world: World) -> None:
    platform = world.platform
    platform.runner.holding = True
    run = await platform.start(*(case(f"{n}") for n in range(20)), concurrency=5)
    for _ in range(3):
        await platform.runner.holds(2)
        platform.runner.release(2)
        await world.broker.cut()
    await platform.runner.holds(1)
    platform.runner.release()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED
    assert await recounted(platform, run.id) == {"passed": 20, "failed": 0, "error": 0, "cancelled": 0}
    assert await kept(platform, run.id) == await recounted(platform, run.id)
    assert (await platform.run_row(run.id)).cost_micro == 20 * 10_000


async def test_a_broker_that_answers_nothing_does_not_hold_up_a_cancel(world: World) -> None:
    platform = world.platform
    world.broker.freeze()
    run = await platform.start(case("А"), case("Б"))
    platform.pipeline.relay.wake()

    async def locked() -> int:
        return len(
            await platform.rows(
                "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' "
                "AND datname = current_database() AND query LIKE '%outbox%'"
            )
        )

    await platform.eventually(locked, bool)
    async with asyncio.timeout(PATIENCE):
        cancelled = await platform.services.runs.cancel(platform.caller, run.id)
    assert cancelled.status is RunStatus.CANCELLED
    await world.broker.cut()


async def test_open_streams_hold_no_connection(world: World) -> None:
    platform = world.platform
    platform.runner.holding = True
    run = await platform.start(case("А"))
    await platform.runner.holds(1)
    async with AsyncExitStack() as stack:
        feeds = [await stack.enter_async_context(aclosing(platform.feed(run.id))) for _ in range(10 * POOL)]
        firsts = await asyncio.gather(*(anext(feed) for feed in feeds))
        assert {first.event for first in firsts} == {"run.started"}
        assert platform.pipeline.hub.watching == len(feeds)
        # Idle, each of them, and there are ten times as many as connections.
        assert (await platform.services.runs.get(platform.caller, run.id)).status is RunStatus.RUNNING
        for feed in feeds[: 5 * POOL]:
            await feed.aclose()
        assert platform.pipeline.hub.watching == 5 * POOL
    assert platform.pipeline.hub.watching == 0
    platform.runner.release()
    assert (await platform.finished(run)).status is RunStatus.COMPLETED
