"""A category that breaks, in the whole product on real servers: one request at a receiver, or none."""

from __future__ import annotations

import json
import signal
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from standardwebhooks import Webhook

from proctor_contracts.topology import ALERTER_RUNS, API_REGRESSIONS, EVENTS
from tests.support.broker_client import BrokerClient
from tests.support.platform_processes import Fleet, case
from tests.support.processes import Process
from tests.support.rest import Rest
from tests.support.servers import fresh_amqp, fresh_database
from tests.support.stub_provider import Reply, Say, Seen, polite_answer
from tests.support.until import until
from tests.support.webhooks import Raw, WebhookServer
from tools.servers.model import Servers

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]

SECRET = f"whsec_{b64encode(bytes(range(32))).decode()}"
SEED = {"runId", "integrationId", "trigger", "thresholdPoints", "regressions", "current", "baseline"}
CASES = [case(n, category="Мова" if n < 10 else "Знижки") for n in range(20)]


@pytest_asyncio.fixture(loop_scope="package")
async def hooks() -> AsyncIterator[WebhookServer]:
    async with WebhookServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="package")
async def fleet(servers: Servers) -> AsyncIterator[Fleet]:
    """An API and a runner; tests start the alerter."""
    with fresh_amqp(servers) as amqp_url, fresh_database(servers) as database_url:
        async with Fleet.on(amqp_url, database_url) as fleet:
            for service in ("api", "runner"):
                await fleet.serve(service, PROCTOR_CONCURRENCY="30")
            yield fleet
            assert [line for line in fleet.faults() if SECRET in line or "token-1234" in line] == []
            assert fleet.faults() == []


async def alerter(fleet: Fleet, hooks: WebhookServer) -> Process:
    return await fleet.serve(
        "alerter",
        TESTING_REGRESSION_WEBHOOK_URL=f"{hooks.url}/alerts?key=token-1234",
        TESTING_REGRESSION_WEBHOOK_SECRET=SECRET,
        PROCTOR_PUBLIC_URL="https://proctor.example",
    )


async def client(fleet: Fleet) -> Rest:
    return await fleet.api(next(process for service, process in fleet.processes if service == "api"))


def failing(*numbers: int, first: int = 10**6) -> Callable[[Seen], Reply]:
    """A bot that has these cases wrong, each so many times at first."""
    seen: Counter[int] = Counter()

    def answer(question: Seen) -> Reply:
        for number in numbers:
            if question.last_user_text.endswith(f"№{number}") and seen[number] < first:
                seen[number] += 1
                return Say("не знаю")
        return polite_answer(question)

    return answer


async def baseline(rest: Rest, fleet: Fleet, runs: int = 3) -> str:
    """An integration with so many runs in which everything went well."""
    bot = await rest.bot(f"bot-{len(fleet.bot.requests)}", fleet.bot.bot_url)
    await rest.cases(bot, CASES)
    for _ in range(runs):
        assert (await rest.ended(await rest.run(bot)))["status"] == "completed"
    return bot


def looked(fleet: Fleet, event: str = "run.looked_at") -> list[dict[str, Any]]:
    return [
        line
        for service, process in fleet.processes
        if service == "alerter"
        for line in process.events
        if line.get("event") == event
    ]


async def heard_again(fleet: Fleet, run: str, times: int) -> None:
    """Publish a run's end again, as the outbox may."""
    (row,) = await fleet.rows("SELECT * FROM test_runs WHERE id = $1", UUID(run))
    body = {
        "v": 1,
        "runId": run,
        "accountId": str(row["account_id"]),
        "integrationId": str(row["integration_id"]),
        "status": row["status"],
        "completedAt": row["completed_at"].isoformat(),
        "summary": json.loads(row["summary"]),
    }
    done = len(looked(fleet, "run.completed"))
    async with BrokerClient.on(fleet.amqp_url) as broker:
        for _ in range(times):
            await broker.send(
                EVENTS.name, "run.completed", json.dumps(body).encode(), message_id=f"{run}:completed"
            )
        await until(lambda: len(looked(fleet, "run.completed")) >= done + times)
        await broker.holds(ALERTER_RUNS.name, 0)


async def test_one_broken_category_is_exactly_one_request_with_the_documented_body_and_a_good_signature(
    fleet: Fleet, hooks: WebhookServer
) -> None:
    await alerter(fleet, hooks)
    rest = await client(fleet)
    bot = await baseline(rest, fleet, runs=4)
    fleet.bot.answer = failing(*range(4))
    run = await rest.run(bot, trigger="ci_cd")
    view = await rest.ended(run)
    await until(lambda: bool(hooks.calls))
    await heard_again(fleet, run, 3)

    (call,) = hooks.calls
    body = Webhook(SECRET).verify(call.raw, dict(call.headers))
    assert set(body) >= SEED
    assert (body["runId"], body["integrationId"], body["trigger"]) == (run, bot, "ci_cd")
    assert body["thresholdPoints"] == 10
    assert (body["current"], body["baseline"]) == (
        {"Мова": 60, "Знижки": 100},
        {"Мова": 100, "Знижки": 100},
    )
    (change,) = body["regressions"]
    assert (change["category"], change["currentAvg"], change["baselineAvg"], change["deltaPoints"]) == (
        "Мова",
        60,
        100,
        40,
    )
    assert (body["verdict"], change["verdict"], change["n"], change["runsUsed"]) == (
        "regression",
        "regression",
        10,
        4,
    )
    assert change["pValue"] <= 0.025
    assert body["link"] == f"https://proctor.example/api/testing/runs/{run}"
    (alert,) = await rest.get(f"/testing/alerts?runId={run}")
    (delivery,) = alert["deliveries"]
    assert (alert["id"], alert["payload"]) == (body["alertId"], body)
    assert (delivery["id"], delivery["state"]) == (call.headers["webhook-id"], "delivered")
    assert [(one["number"], one["status"]) for one in delivery["attempts"]] == [(1, 200)]
    assert "token-1234" not in delivery["target"]
    assert (await rest.view(run))["status"] == view["status"] == "completed"


async def test_a_drop_that_may_be_chance_is_told_once_its_rerun_confirms_it(
    fleet: Fleet, hooks: WebhookServer
) -> None:
    hooks.answers["/alerts"] = Raw(b"not now", status=500)
    await alerter(fleet, hooks)
    rest = await client(fleet)
    bot = await baseline(rest, fleet, runs=7)
    fleet.bot.answer = failing(3)
    run = await rest.run(bot)
    await rest.ended(run)
    await until(lambda: bool(hooks.calls), within=60)
    hooks.answers["/alerts"] = {"ok": True}
    rerun = next(one for one in await rest.get("/testing/runs") if one["confirmsRunId"] == run)
    first = json.loads(hooks.calls[0].raw)
    (change,) = first["regressions"]
    assert (first["runId"], change["category"], change["currentAvg"]) == (run, "Мова", 90)
    assert (change["confirmedBy"], change["confirmedAvg"], change["verdict"]) == (
        rerun["id"],
        90,
        "regression",
    )
    assert {(one["category"], one["trial"]) for one in await rest.results(rerun["id"])} == {
        ("Мова", trial) for trial in (1, 2, 3)
    }
    # The receiver was broken: the same bytes come again with the same id, ten seconds later.
    await until(lambda: len(hooks.calls) == 2, within=30)
    assert hooks.calls[0].raw == hooks.calls[1].raw
    assert hooks.calls[0].headers["webhook-id"] == hooks.calls[1].headers["webhook-id"]
    Webhook(SECRET).verify(hooks.calls[1].raw, dict(hooks.calls[1].headers))
    await heard_again(fleet, rerun["id"], 2)
    assert len(hooks.calls) == 2
    # The rerun is neither looked at itself nor a baseline of what comes.
    assert await fleet.rows("SELECT 1 FROM run_looks WHERE run_id = $1", UUID(rerun["id"])) == []


async def test_a_drop_that_was_chance_alarms_nobody(fleet: Fleet, hooks: WebhookServer) -> None:
    await alerter(fleet, hooks)
    rest = await client(fleet)
    bot = await baseline(rest, fleet, runs=7)
    fleet.bot.answer = failing(3, first=1)
    run = await rest.run(bot)
    await rest.ended(run)
    await until(lambda: bool(looked(fleet, "suspicion.settled")), within=60)
    (line,) = looked(fleet, "suspicion.settled")
    assert (line["run"], line["confirmed"], line["cleared"]) == (run, 0, 1)
    assert hooks.calls == []
    (alert,) = await rest.get(f"/testing/alerts?runId={run}")
    assert (alert["kind"], alert["untold"], alert["deliveries"]) == ("suspected", "not_asked_for", [])
    async with BrokerClient.on(fleet.amqp_url) as broker:
        await broker.holds(API_REGRESSIONS.name, 0)


async def test_an_alerter_that_was_away_tells_of_a_break_once_and_of_the_newest_run(
    fleet: Fleet, hooks: WebhookServer
) -> None:
    rest = await client(fleet)
    first = await alerter(fleet, hooks)
    bot = await baseline(rest, fleet, runs=7)
    await until(lambda: len(looked(fleet)) == 7)
    await first.end(signal.SIGKILL)
    fleet.bot.answer = failing(*range(10))
    runs: list[str] = []
    for _ in range(3):
        runs.append(await rest.run(bot))
        await rest.ended(runs[-1])
    await alerter(fleet, hooks)
    await until(lambda: len(looked(fleet)) == 10, within=60)
    await until(lambda: len(hooks.calls) == 2)
    told = {one["runId"]: one["stale"] for one in (json.loads(call.raw) for call in hooks.calls)}
    assert told == {runs[0]: True, runs[2]: False}
    (repeated,) = await rest.get(f"/testing/alerts?runId={runs[1]}")
    assert repeated["untold"] == "stale_repeat"


async def test_a_receiver_that_is_gone_is_asked_once_and_may_be_asked_again_by_hand(
    fleet: Fleet, hooks: WebhookServer
) -> None:
    hooks.answers["/alerts"] = Raw(b"gone", status=410)
    await alerter(fleet, hooks)
    rest = await client(fleet)
    bot = await baseline(rest, fleet)
    fleet.bot.answer = failing(*range(10))
    run = await rest.run(bot)
    await rest.ended(run)

    await until(lambda: bool(looked(fleet, "delivery.tried")))
    await until(lambda: looked(fleet, "delivery.tried")[-1]["state"] == "failed")
    hooks.answers["/alerts"] = {"ok": True}
    (alert,) = await rest.get(f"/testing/alerts?runId={run}")
    answer = await rest.call("POST", f"/testing/alerts/{alert['id']}/redeliver")
    assert answer.status == 202
    await until(lambda: len(hooks.calls) == 2)
    assert hooks.calls[0].raw == hooks.calls[1].raw
    await until(lambda: looked(fleet, "delivery.tried")[-1]["state"] == "delivered")
    assert (await rest.view(run))["status"] == "completed"
