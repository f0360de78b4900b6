"""Workers, broker and database that go away in the middle of a run: it completes, each trial once."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from tests.support.own_servers import OwnServer, own_broker, own_database
from tests.support.platform_processes import Fleet, case
from tests.support.processes import Process
from tests.support.rest import Rest
from tests.support.stub_provider import Reply, Seen, polite_answer
from tests.support.until import until
from tools.servers.model import Servers

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

CATEGORIES = ("Замовлення", "Повернення", "Гроші", "Мова", "Безпека", "Чемність")
LARGE = 154
RECOUNT = """
SELECT r.total, r.remaining, r.in_flight, r.judging, r.passed, r.failed, r.error, r.cancelled,
  (SELECT count(*) FROM test_results t WHERE t.run_id = r.id) AS results,
  (SELECT count(*) FROM test_results t WHERE t.run_id = r.id AND t.status = 'passed') AS results_passed,
  (SELECT count(*) FROM test_results t WHERE t.run_id = r.id AND t.status = 'failed') AS results_failed,
  (SELECT count(*) FROM test_results t WHERE t.run_id = r.id AND t.status = 'error') AS results_error,
  (SELECT count(*) FROM result_phases p WHERE p.run_id = r.id) AS phases,
  (SELECT count(DISTINCT (result_id, attempt, phase)) FROM result_phases p WHERE p.run_id = r.id) AS keys,
  (SELECT count(*) FROM run_events e WHERE e.run_id = r.id AND e.event = 'run.completed') AS ends
FROM test_runs r WHERE r.id = $1
"""


@pytest.fixture(scope="module")
def broker(servers: Servers) -> Iterator[OwnServer]:
    with own_broker(servers) as server:
        yield server


@pytest.fixture(scope="module")
def database(servers: Servers) -> Iterator[OwnServer]:
    with own_database(servers) as server:
        yield server


class Stage:
    """A fleet that may lose its servers: an API, two runners and a judge."""

    def __init__(
        self, fleet: Fleet, api: Process, rest: Rest, runners: list[Process], judge: Process
    ) -> None:
        self.fleet = fleet
        self.api = api
        self.rest = rest
        self.runners = runners
        self.judge = judge

    async def readiness(self, process: Process) -> tuple[int, str]:
        return await process.probe("/readyz")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(broker: OwnServer, database: OwnServer) -> AsyncIterator[Stage]:
    async with Fleet.on(broker.url, database.url) as fleet:
        services = ("api", "runner", "runner", "judge")
        api, one, two, judge = await asyncio.gather(*(fleet.serve(service) for service in services))
        yield Stage(fleet, api, await fleet.api(api), [one, two], judge)


@pytest.fixture
def stage(started: Stage, broker: OwnServer, database: OwnServer) -> Iterator[Stage]:
    started.fleet.forget()
    yield started
    broker.start()
    database.start()
    assert started.fleet.faults() == []


def large_suite() -> list[dict[str, Any]]:
    """Cases in six categories; every seventh is judged too, every eleventh finds a fault."""
    cases = []
    for number in range(LARGE):
        checks: list[dict[str, Any]] = [{"kind": "contains", "value": f"№{number}"}]
        if number % 7 == 0:
            checks.append({"kind": "judge", "rubric": "Відповідь стосується питання."})
        if number % 11 == 0:
            checks.append({"kind": "contains", "value": "такого бот не каже", "required": True})
        cases.append(case(number, *checks, category=CATEGORIES[number % len(CATEGORIES)]))
    return cases


async def test_a_run_survives_a_killed_runner_and_a_restart_of_the_broker(
    stage: Stage, broker: OwnServer
) -> None:
    fleet, rest = stage.fleet, stage.rest
    held = asyncio.Event()

    def answer(seen: Seen) -> Reply:
        if len(fleet.bot.requests) == LARGE // 2:
            fleet.bot.hold = held
        return polite_answer(seen)

    fleet.bot.answer = answer
    bot = await rest.bot("large", fleet.bot.bot_url)
    await rest.cases(bot, large_suite())
    run = await rest.run(bot)
    await until(lambda: fleet.bot.in_flight >= 24)
    await stage.runners[0].end(signal.SIGKILL)
    await asyncio.to_thread(broker.restart)
    held.set()
    view = await rest.ended(run)
    assert view["status"] == "completed"
    results = await rest.results(run)
    assert len({(result["caseRef"], result["trial"]) for result in results}) == len(results) == LARGE
    assert Counter(result["category"] for result in results).keys() == set(CATEGORIES)
    failed = {f"c-{number}" for number in range(0, LARGE, 11)}
    assert {result["caseRef"] for result in results if result["status"] != "passed"} == failed
    row = (await fleet.rows(RECOUNT, UUID(run)))[0]
    judged = len(range(0, LARGE, 7))
    assert (row["total"], row["results"], row["remaining"]) == (LARGE, LARGE, 0)
    assert (row["in_flight"], row["judging"], row["cancelled"]) == (0, 0, 0)
    assert (row["passed"], row["failed"], row["error"]) == (LARGE - len(failed), len(failed), 0)
    assert row["results_passed"] == row["passed"] == view["summary"]["passed"]
    assert row["results_failed"] == row["failed"] == view["summary"]["failed"]
    assert row["results_error"] == row["error"]
    assert (row["phases"], row["keys"], row["ends"]) == (LARGE + judged, LARGE + judged, 1)
    # Conversations of the dead runner were had again, and only those.
    assert LARGE < len(fleet.bot.requests) <= LARGE + 16


async def test_a_run_survives_a_database_that_is_away_and_the_api_says_so_meanwhile(
    stage: Stage, database: OwnServer
) -> None:
    fleet, rest = stage.fleet, stage.rest
    fleet.bot.hold = asyncio.Event()
    bot = await rest.bot("patient", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(12)])
    run = await rest.run(bot)
    await until(lambda: fleet.bot.in_flight == 12)
    await asyncio.to_thread(database.stop)
    refused = await rest.call("GET", f"/testing/runs/{run}")
    assert refused.status == 503
    assert int(refused.headers["Retry-After"]) >= 1
    assert (await rest.call("POST", "/testing/runs", {"integrationId": bot, "caseFilter": {}})).status == 503
    fleet.bot.hold.set()
    await until(lambda: fleet.bot.in_flight == 0)
    assert (await rest.ready())[0] == 503
    await asyncio.to_thread(database.start)
    view = await rest.ended(run)
    assert (view["status"], view["summary"]["passed"]) == ("completed", 12)
    row = (await fleet.rows(RECOUNT, UUID(run)))[0]
    assert (row["phases"], row["keys"], row["ends"], row["passed"]) == (12, 12, 1, 12)
    assert len(fleet.bot.requests) == 12
    assert [one["id"] for one in await rest.get(f"/testing/runs?integrationId={bot}")] == [run]


async def test_a_run_that_is_started_while_the_broker_is_away_waits_for_it(
    stage: Stage, broker: OwnServer
) -> None:
    fleet, rest = stage.fleet, stage.rest
    bot = await rest.bot("waiting", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(5)])
    await asyncio.to_thread(broker.stop)
    begun = await rest.call("POST", "/testing/runs", {"integrationId": bot, "caseFilter": {}})
    assert (begun.status, begun.data["status"]) == (201, "pending")
    status, facts = await rest.ready()
    assert (status, facts["broker"], facts["database"]) == (200, "down", "up")
    for worker in (stage.runners[1], stage.judge):
        assert (await stage.readiness(worker))[0] == 503
    assert (await rest.view(begun.data["id"]))["status"] == "pending"
    assert fleet.bot.requests == []
    await asyncio.to_thread(broker.start)
    view = await rest.ended(begun.data["id"])
    assert (view["status"], view["summary"]["passed"]) == ("completed", 5)
    assert len(fleet.bot.requests) == 5
    assert (await stage.readiness(stage.judge))[0] == 200


async def test_a_cancel_while_the_broker_is_away_stops_the_workers_when_it_is_back(
    stage: Stage, broker: OwnServer
) -> None:
    fleet, rest = stage.fleet, stage.rest
    fleet.bot.hold = asyncio.Event()
    bot = await rest.bot("unheard", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(40)])
    run = await rest.run(bot, concurrency=40)
    await until(lambda: fleet.bot.in_flight == 16)
    await asyncio.to_thread(broker.stop)
    assert (await rest.post(f"/testing/runs/{run}/cancel"))["status"] == "cancelled"
    await asyncio.to_thread(broker.start)
    await until(lambda: fleet.bot.in_flight == 0)
    fleet.bot.hold.set()
    called = len(fleet.bot.requests)
    other = await rest.run(bot, caseFilter={"refs": ["c-1", "c-2"]})
    assert (await rest.ended(other))["summary"]["passed"] == 2
    assert len(fleet.bot.requests) == called + 2
    assert called <= 32


async def test_results_wait_for_an_api_that_was_killed_and_its_run_goes_on(stage: Stage) -> None:
    fleet = stage.fleet
    doomed = await fleet.api(stage.api)
    fleet.bot.hold = asyncio.Event()
    bot = await doomed.bot("orphaned", fleet.bot.bot_url)
    await doomed.cases(bot, [case(number) for number in range(12)])
    run = await doomed.run(bot, concurrency=6)
    await until(lambda: fleet.bot.in_flight == 6)
    await stage.api.end(signal.SIGKILL)
    fleet.bot.hold.set()
    await until(lambda: fleet.bot.in_flight == 0)
    stage.api = await fleet.serve("api")
    stage.rest = await fleet.api(stage.api)
    view = await stage.rest.ended(run)
    assert (view["status"], view["summary"]["passed"]) == ("completed", 12)
    assert len(fleet.bot.requests) == 12
