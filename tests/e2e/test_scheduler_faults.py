"""Three schedulers, many schedules due at once, and whatever dies in the middle: each is played once."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from tests.support.own_servers import OwnServer, own_broker, own_database
from tests.support.platform_processes import Fleet, case
from tests.support.processes import Process
from tests.support.scheduled import just_now, seen
from tools.servers.model import Servers
from tools.servers.probe import plain_dsn

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

ACCOUNTS, EACH = 20, 10
ALL = ACCOUNTS * EACH
# A row as it is, but for some columns.
CLONE = "SELECT (jsonb_populate_record(NULL::{table}, to_jsonb(one) || {but})).* FROM {table} one"


@pytest.fixture(scope="module")
def database(servers: Servers) -> Iterator[OwnServer]:
    with own_database(servers) as server:
        yield server


@pytest.fixture(scope="module")
def broker(servers: Servers) -> Iterator[OwnServer]:
    with own_broker(servers) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(broker: OwnServer, database: OwnServer) -> AsyncIterator[Fleet]:
    """A fleet without processes, and bots with a case each in twenty accounts."""
    async with Fleet.on(broker.url, database.url) as fleet:
        api = await fleet.serve("api")
        rest = await fleet.api(api)
        await rest.cases(await rest.bot("watched", fleet.bot.bot_url), [case(1)])
        await api.end()
        for number in range(ACCOUNTS - 1):
            await clone_account(fleet, f"account {number}")
        yield fleet
        assert fleet.faults() == []


async def clone_account(fleet: Fleet, name: str) -> None:
    """Another account with the same bot and the same case."""
    (first,) = await fleet.rows("SELECT id FROM accounts WHERE name = 'tester'")
    where = "WHERE one.{column} = $1"
    but = "jsonb_build_object('id', gen_random_uuid(), 'name', $2::text)"
    (account,) = await fleet.rows(
        f"INSERT INTO accounts {CLONE.format(table='accounts', but=but)} "
        f"{where.format(column='id')} RETURNING id",
        first["id"],
        name,
    )
    for table, parent, old, new in (
        ("integrations", "account_id", first["id"], account["id"]),
        ("test_cases", "account_id", first["id"], account["id"]),
    ):
        but = f"jsonb_build_object('id', gen_random_uuid(), '{parent}', $2::uuid)"
        if table == "test_cases":
            theirs = "(SELECT id FROM integrations WHERE account_id = $2)"
            but += f" || jsonb_build_object('integration_id', {theirs})"
        await fleet.rows(
            f"INSERT INTO {table} {CLONE.format(table=table, but=but)} {where.format(column=parent)}",
            old,
            new,
        )


async def schedules_of(fleet: Fleet, name: str, *, each: int, cron: str | None = None) -> list[UUID]:
    """So many schedules for each bot, switched off, whose time was just now."""
    made = await fleet.rows(
        """
        INSERT INTO test_schedules (id, account_id, integration_id, name, cron_expression, timezone, mode,
          notifications, is_active, counted_from, next_run_at, created_at, updated_at)
        SELECT gen_random_uuid(), account_id, id, $1, $2, 'UTC', '{"kind": "case"}', '{}', false,
          now() - interval '1 hour', date_trunc('minute', now()), now(), now()
        FROM integrations, generate_series(1, $3)
        RETURNING id
        """,
        name,
        cron or just_now(),
        each,
    )
    return [row["id"] for row in made]


async def switch_on(fleet: Fleet, schedules: list[UUID]) -> None:
    """From now they are due, all of them since the same minute."""
    await fleet.rows("UPDATE test_schedules SET is_active = true WHERE id = ANY($1)", schedules)


async def statuses(fleet: Fleet, schedules: list[UUID]) -> Counter[str]:
    rows = await fleet.rows("SELECT status FROM schedule_ticks WHERE schedule_id = ANY($1)", schedules)
    return Counter(row["status"] for row in rows)


async def played_once(fleet: Fleet, schedules: list[UUID]) -> None:
    """Wait until every schedule's tick has its run, and see that each has one of both."""

    async def started() -> int:
        return (await statuses(fleet, schedules))["started"]

    await seen(started, lambda count: count >= len(schedules))
    assert await statuses(fleet, schedules) == {"started": len(schedules)}
    runs = await fleet.rows("SELECT schedule_id FROM test_runs WHERE schedule_id = ANY($1)", schedules)
    assert Counter(row["schedule_id"] for row in runs) == Counter(schedules)


@asynccontextmanager
async def account_locked(url: str) -> AsyncIterator[None]:
    """Hold the account's row, so that whoever fires its schedules stops in the middle of that."""
    connection = await asyncpg.connect(plain_dsn(url))
    try:
        await connection.execute("BEGIN")
        await connection.execute("SELECT 1 FROM accounts WHERE name = 'tester' FOR UPDATE")
        yield
    finally:
        await connection.close()


async def stopped_in_the_middle(fleet: Fleet) -> str:
    """Wait for a transaction that waits for the account; says which user's it is."""

    async def users() -> list[str]:
        rows = await fleet.rows(
            "SELECT usename FROM pg_stat_activity WHERE datname = current_database() "
            "AND wait_event_type = 'Lock' AND query LIKE '%accounts%'"
        )
        return [row["usename"] for row in rows]

    found: list[str] = await seen(users, lambda names: len(names) > 0)
    return found[0]


def as_user(url: str, name: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{name}:{name}@{parts.netloc.rpartition('@')[2]}"))


async def test_three_schedulers_of_which_one_is_killed_play_two_hundred_schedules_once(fleet: Fleet) -> None:
    owner = urlsplit(fleet.database_url).username
    names = [f"scheduler_{number}" for number in (1, 2, 3)]
    for name in names:
        await fleet.rows(f"CREATE ROLE {name} LOGIN PASSWORD '{name}' IN ROLE \"{owner}\"")
    by_user: dict[str, Process] = {}
    for name in names:
        url = as_user(fleet.database_url, name)
        by_user[name] = await fleet.serve("scheduler", PROCTOR_DATABASE_URL=url)
    schedules = await schedules_of(fleet, "minute", each=EACH)
    assert len(schedules) == ALL
    async with account_locked(fleet.database_url):
        await switch_on(fleet, schedules)
        victim = await stopped_in_the_middle(fleet)
        await by_user[victim].end(signal.SIGKILL)

        async def ticks() -> int:
            return (await statuses(fleet, schedules))["fired"]

        await seen(ticks, lambda count: count >= ALL - EACH)
        assert await statuses(fleet, schedules) == {"fired": ALL - EACH}
    # The database notices now that nobody is there any more for what was in the middle.
    await seen(ticks, lambda count: count >= ALL)
    # The messages are in the outbox: the schedulers may be gone before anybody sends them.
    for name in names:
        await by_user[name].end(signal.SIGKILL)
    await asyncio.gather(fleet.serve("api"), fleet.serve("api"))
    await played_once(fleet, schedules)


async def test_a_restart_of_the_database_in_the_middle_of_a_tick_loses_and_doubles_nothing(
    fleet: Fleet, database: OwnServer
) -> None:
    fleet.expected |= {"dead_letter"}
    schedulers = await asyncio.gather(fleet.serve("scheduler"), fleet.serve("scheduler"))
    schedules = await schedules_of(fleet, "restart", each=2)
    async with account_locked(fleet.database_url):
        await switch_on(fleet, schedules)
        await stopped_in_the_middle(fleet)
        await asyncio.to_thread(database.restart, kill=True)
    await played_once(fleet, schedules)
    for scheduler in schedulers:
        events = Counter(event.get("event") for event in scheduler.events)
        assert events["database_away"] == events["database_back"] <= 1
        assert (await scheduler.probe("/readyz"))[0] == 200
        assert await scheduler.end() == 0


async def test_after_twelve_hours_away_each_schedule_is_played_once(fleet: Fleet) -> None:
    """C-09, with a whole process that comes back."""
    schedules = await schedules_of(fleet, "away", each=1, cron="*/15 * * * *")
    await fleet.rows(
        "UPDATE test_schedules SET counted_from = now() - interval '12 hours' WHERE id = ANY($1)", schedules
    )
    await switch_on(fleet, schedules)
    scheduler = await fleet.serve("scheduler")
    await played_once(fleet, schedules)
    rows = await fleet.rows(
        "SELECT t.missed, t.planned_at, t.planned_local, s.next_run_at, s.last_run_id = t.run_id AS last "
        "FROM schedule_ticks t JOIN test_schedules s ON s.id = t.schedule_id WHERE s.id = ANY($1)",
        schedules,
    )
    now = datetime.now(UTC)
    for row in rows:
        assert row["missed"] in {46, 47}
        assert now - timedelta(minutes=16) < row["planned_at"] <= now
        assert row["next_run_at"] == row["planned_at"] + timedelta(minutes=15)
        assert row["planned_local"] == row["planned_at"].strftime("%Y-%m-%dT%H:%M+00:00")
        assert row["last"] is True
    assert await scheduler.end() == 0
