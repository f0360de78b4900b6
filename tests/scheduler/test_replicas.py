"""Several schedulers on one PostgreSQL: every planned time once, whatever their clocks say."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from sqlalchemy import text
from typing_extensions import override

from proctor_chassis.clock import SystemClock
from proctor_store.engine import create_engine
from proctor_store.migrate import upgrade_database
from proctor_store.repositories import pipeline, schedule_records, schedules
from proctor_store.session import Database
from tests.scheduler.world import World

pytestmark = pytest.mark.real

HOURS_AGO = timedelta(hours=2)


class Skewed(SystemClock):
    """A replica's clock that is wrong."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    @override
    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._seconds)


async def somebody_waits(database: Database) -> None:
    """Return when a transaction of this database waits for a row that another holds."""
    query = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    waiting = 0
    while not waiting:
        async with database.reading() as unit:
            waiting = (await unit.connection.execute(query)).scalar_one()


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(create_engine(database_url))
    await upgrade_database(database)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
def world(database: Database) -> World:
    return World(database, SystemClock())


async def test_two_replicas_with_skewed_clocks_fire_once_and_by_the_databases_time(
    database: Database,
) -> None:
    """C-08: one replica is 90 s behind, one two seconds ahead."""
    behind, ahead = World(database, Skewed(-90)), World(database, Skewed(2))
    async with database.reading() as unit:
        now = await schedules.moment(unit, clock=datetime(1999, 1, 1, tzinfo=UTC))
    assert abs((now - datetime.now(UTC)).total_seconds()) < 30
    account = await behind.account()
    due = await behind.schedule(account, since=now - HOURS_AGO)
    await behind.change(due, next_run_at=now - timedelta(seconds=1))
    early = await behind.schedule(account, since=now, cron="0 0 1 1 *")
    await behind.change(early, next_run_at=now + timedelta(seconds=60))
    await asyncio.gather(*(world.look() for _ in range(4) for world in (behind, ahead)))
    assert await behind.statuses(due) == ["fired"]
    assert await behind.ticks(early) == []
    (tick,) = await behind.ticks(due)
    assert abs((tick.fired_at - now).total_seconds()) < 30
    messages = [message for message in await behind.messages() if message.schedule_id == due]
    assert [(message.tick_id, message.fire) for message in messages] == [(tick.id, 0)]


async def test_two_hundred_schedules_and_six_looks_at_once_make_two_hundred_ticks(world: World) -> None:
    since = datetime.now(UTC) - HOURS_AGO
    accounts = [await world.account() for _ in range(10)]
    all_ = {await world.schedule(accounts[n % 10], since=since) for n in range(200)}
    before = {message.tick_id for message in await world.messages()}
    await asyncio.gather(*(world.ticking(batch=7).look(thorough=False) for _ in range(6)))
    while await world.look(thorough=False):
        pass
    fired = Counter(one.schedule_id for one in await world.messages() if one.tick_id not in before)
    assert fired == Counter(all_)
    for one in all_:
        assert await world.statuses(one) == ["fired"]


async def test_a_quota_holds_over_replicas(world: World) -> None:
    since = datetime.now(UTC) - HOURS_AGO
    account = await world.account(runs_per_minute=5)
    all_ = [await world.schedule(account, since=since) for _ in range(30)]
    await asyncio.gather(*(world.ticking(batch=4).look(thorough=True) for _ in range(4)))
    await world.look()
    statuses = Counter([status for one in all_ for status in await world.statuses(one)])
    assert statuses == {"fired": 5, "waiting": 25}


async def test_a_schedule_that_somebody_edits_is_passed_over_and_fires_as_it_is_then(
    world: World, database: Database
) -> None:
    now = datetime.now(UTC)
    account = await world.account()
    edited = await world.schedule(account, since=now - HOURS_AGO)
    deleted = await world.schedule(account, since=now - HOURS_AGO)
    switched = await world.schedule(account, since=now - HOURS_AGO)
    other = await world.schedule(account, since=now - HOURS_AGO)
    async with asyncio.timeout(20), database.transaction() as unit:
        for one in (edited, deleted, switched):
            assert await schedule_records.get(unit, account, one, lock=True) is not None
        await world.look()  # returns although three of its rows are held
        assert await world.statuses(other) == ["fired"]
        await schedule_records.change(unit, edited, {"counted_from": now, "next_run_at": now + HOURS_AGO})
        await schedule_records.change(unit, switched, {"is_active": False})
        assert await schedule_records.remove(unit, account, deleted)
    await world.look()
    for one in (edited, deleted, switched):
        assert await world.ticks(one) == []


async def test_a_start_of_a_run_by_hand_and_a_tick_wait_for_each_other(
    world: World, database: Database
) -> None:
    """Both lock the account, so that together they keep its quota."""
    account = await world.account(runs_per_minute=1)
    schedule = await world.schedule(account, since=datetime.now(UTC) - HOURS_AGO)
    async with asyncio.timeout(20):
        async with database.transaction() as unit:
            await pipeline.lock_accounts(unit, [account])
            looking = asyncio.create_task(world.look())
            await somebody_waits(database)
            assert await world.ticks(schedule) == []
        await looking
    assert await world.statuses(schedule) == ["fired"]
