"""Schedules in the whole product on real servers: due, played, freed, and due again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import pytest_asyncio

from proctor_contracts.topology import API_SCHEDULES
from tests.support.broker_client import BrokerClient
from tests.support.platform_processes import Fleet, case
from tests.support.rest import Rest
from tests.support.scheduled import SCHEDULES, became, nightly, seen, ticks
from tests.support.servers import fresh_amqp, fresh_database
from tests.support.until import until
from tools.servers.model import Servers

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def started(servers: Servers) -> AsyncIterator[Fleet]:
    """Two APIs, two schedulers and a runner."""
    with fresh_amqp(servers) as amqp_url, fresh_database(servers) as database_url:
        async with Fleet.on(amqp_url, database_url) as fleet:
            wanted = ("api", "api", "scheduler", "scheduler", "runner")
            await asyncio.gather(*(fleet.serve(service) for service in wanted))
            yield fleet


@pytest.fixture
def fleet(started: Fleet) -> Iterator[Fleet]:
    started.forget()
    yield started
    assert started.faults() == []


async def clients(fleet: Fleet) -> tuple[Rest, Rest]:
    one, two = [process for service, process in fleet.processes if service == "api"][:2]
    return await fleet.api(one), await fleet.api(two)


async def due(fleet: Fleet, *schedules: str) -> None:
    """Make the newest planned time due as if it had not been, for one more time."""
    ids = [UUID(schedule) for schedule in schedules]
    await fleet.rows(
        "UPDATE schedule_ticks SET planned_at = planned_at - interval '1 day' "
        "WHERE schedule_id = ANY($1)", ids,
    )  # fmt: skip
    await fleet.rows(
        "UPDATE test_schedules SET next_run_at = now() - interval '1 hour', counted_local = NULL, "
        "counted_from = now() - interval '1 hour' WHERE id = ANY($1)", ids,
    )  # fmt: skip


async def test_a_due_schedule_is_played_freed_and_due_again(fleet: Fleet) -> None:
    rest, other = await clients(fleet)
    bot = await rest.bot("clock", fleet.bot.bot_url)
    await rest.cases(bot, [case(1), case(2)])
    schedule = await nightly(rest, bot, mode={"run": {"tags": ["nightly"]}})
    assert await ticks(rest, schedule) == []
    await due(fleet, schedule)
    (tick,) = await became(rest, schedule, "started")
    run = await rest.ended(tick["runId"])
    assert (run["status"], run["trigger"], run["scheduleId"]) == ("completed", "scheduled", schedule)
    assert (run["tags"], run["summary"]["passed"]) == (["nightly"], 2)
    view = await seen(
        lambda: other.get(f"{SCHEDULES}/{schedule}"), lambda one: one["lastRunStatus"] == "completed"
    )
    assert (view["lastRunId"], view["waitingFor"]) == (run["id"], None)
    assert datetime.fromisoformat(view["nextRunAt"]) > datetime.now(UTC) - timedelta(seconds=5)
    await due(fleet, schedule)
    again = await became(rest, schedule, "started", "started")
    assert len({tick["runId"] for tick in again}) == 2
    runs = await other.get(f"/testing/runs?scheduleId={schedule}")
    assert len(runs) == 2


async def test_a_tick_waits_for_the_run_before_it_and_starts_when_that_is_over(fleet: Fleet) -> None:
    rest, _ = await clients(fleet)
    bot = await rest.bot("slow", fleet.bot.bot_url)
    await rest.cases(bot, [case(1)])
    schedule = await nightly(rest, bot)
    fleet.bot.hold = asyncio.Event()
    await due(fleet, schedule)
    await until(lambda: fleet.bot.in_flight == 1)
    await due(fleet, schedule)
    await became(rest, schedule, "waiting", "started")
    view = await rest.get(f"{SCHEDULES}/{schedule}")
    assert view["waitingFor"] == "previous_run"
    fleet.bot.hold.set()
    for tick in await became(rest, schedule, "started", "started"):
        assert (await rest.ended(tick["runId"]))["status"] == "completed"


async def test_a_message_that_comes_again_and_again_starts_one_run(fleet: Fleet) -> None:
    rest, _ = await clients(fleet)
    bot = await rest.bot("twice", fleet.bot.bot_url)
    await rest.cases(bot, [case(1)])
    schedules = [await nightly(rest, bot) for _ in range(10)]
    async with BrokerClient.on(fleet.amqp_url) as broker:
        heard = await broker.hear("proctor.events", "schedule.fired")
        await due(fleet, *schedules)
        await until(lambda: len({message.message_id for message in heard.messages}) == 10)
        first = list(heard.messages)
        for _ in range(5):
            for message in first:
                await broker.send(
                    "proctor.events", "schedule.fired", message.body, message_id=message.message_id
                )
        for schedule in schedules:
            await became(rest, schedule, "started")
        await broker.holds(API_SCHEDULES.name, 0)
    runs = await fleet.rows(
        "SELECT schedule_id, count(*) AS runs FROM test_runs WHERE schedule_id = ANY($1) GROUP BY 1",
        [UUID(schedule) for schedule in schedules],
    )
    assert sorted((str(row["schedule_id"]), row["runs"]) for row in runs) == sorted(
        (schedule, 1) for schedule in schedules
    )
    for schedule in schedules:
        (tick,) = await ticks(rest, schedule)
        assert (await rest.ended(tick["runId"]))["status"] == "completed"


async def test_schedules_that_are_due_while_no_api_runs_start_when_one_does(fleet: Fleet) -> None:
    rest, _ = await clients(fleet)
    bot = await rest.bot("later", fleet.bot.bot_url)
    await rest.cases(bot, [case(1)])
    schedules = [await nightly(rest, bot) for _ in range(5)]
    for service, process in fleet.processes:
        if service == "api":
            await process.end(signal.SIGKILL)
    await due(fleet, *schedules)

    async def fired() -> int:
        query = "SELECT count(*) FROM schedule_ticks WHERE status = 'fired' AND schedule_id = ANY($1)"
        (row,) = await fleet.rows(query, [UUID(schedule) for schedule in schedules])
        return int(row["count"])

    await seen(fired, lambda count: count == 5)
    rest = await fleet.api(await fleet.serve("api"))
    for schedule in schedules:
        (tick,) = await became(rest, schedule, "started")
        assert (await rest.ended(tick["runId"]))["status"] == "completed"
