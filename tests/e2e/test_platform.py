"""Runs on real servers, through processes that stay alive: verdicts, cancel, poison, duplicates, pools."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from uuid import UUID

import pytest

from tests.e2e.conftest import Platform
from tests.support.broker_client import BrokerClient
from tests.support.platform_processes import case
from tests.support.proxy import line_to
from tests.support.stub_provider import Say
from tests.support.until import until

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]


async def test_a_judge_that_answers_garbage_makes_errors_that_show_what_it_said(platform: Platform) -> None:
    platform.fleet.judge.answer = lambda _seen: Say("Вважаю, що пройдено, мабуть.")
    rest = platform.one
    bot = await rest.bot("garbage", platform.fleet.bot.bot_url)
    judged = {"kind": "judge", "rubric": "Бот ввічливий."}
    await rest.cases(bot, [case(1, judged), case(2, {"kind": "contains", "value": "нема такого"}), case(3)])
    run = await rest.run(bot)
    view = await rest.ended(run)
    assert view["status"] == "completed"
    summary = view["summary"]
    assert (summary["passed"], summary["failed"], summary["error"]) == (1, 1, 1)
    by_ref = {result["caseRef"]: result for result in await rest.results(run)}
    garbled = by_ref["c-1"]
    assert garbled["status"] == "error"
    assert garbled["error"]["blame"] == "judge"
    assert "Вважаю, що пройдено, мабуть." in str(garbled["assertionResults"])
    assert summary["errorsByCode"] == {garbled["error"]["code"]: 1}
    assert summary["passRate"] == 0.5


async def test_cancel_stops_the_spending_at_once_and_nothing_late_changes_it(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    fleet.bot.hold = asyncio.Event()
    bot = await rest.bot("cancelled", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(120)])
    run = await rest.run(bot, concurrency=100)
    await until(lambda: fleet.bot.in_flight >= 50)
    view = await rest.post(f"/testing/runs/{run}/cancel")
    assert view["status"] == "cancelled"
    await until(lambda: fleet.bot.in_flight == 0, within=5)
    called = len(fleet.bot.requests)
    fleet.bot.hold.set()
    again = await platform.two.post(f"/testing/runs/{run}/cancel")
    assert again["status"] == "cancelled"
    assert again["completedAt"] == view["completedAt"]
    # Another run on the same workers: when it is through, everything that was queued before it is too.
    other = await rest.run(bot, concurrency=100)
    assert (await rest.ended(other))["status"] == "completed"
    assert len(fleet.bot.requests) == called + 120
    last = await platform.two.view(run)
    assert last["status"] == "cancelled"
    assert last["progress"]["cancelled"] == 120
    assert {result["status"] for result in await rest.results(run)} == {"cancelled"}


async def test_a_worker_that_starts_after_a_cancel_drops_what_was_queued(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    bot = await rest.bot("late", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(20)])
    run = await rest.run(bot, pool="high", concurrency=20)
    async with BrokerClient.on(fleet.amqp_url) as broker:
        await broker.holds("proctor.runner.cases.high", 20)
        await rest.post(f"/testing/runs/{run}/cancel")
        other = await rest.run(bot, pool="high", caseFilter={"refs": ["c-1", "c-2"]})
        await broker.holds("proctor.runner.cases.high", 22)
    runner = await fleet.serve("runner", PROCTOR_POOL="high")
    assert (await rest.ended(other))["summary"]["passed"] == 2
    assert len(fleet.bot.requests) == 2
    assert (await rest.view(run))["status"] == "cancelled"
    assert await runner.end() == 0


async def test_poison_becomes_dead_letters_and_its_neighbours_are_played(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    fleet.bot.hold = asyncio.Event()
    bot = await rest.bot("poisoned", fleet.bot.bot_url)
    (poisoned, *_) = await rest.cases(bot, [case(number) for number in range(5)])
    run = await rest.run(bot)
    await until(lambda: fleet.bot.in_flight == 5)
    good = {"v": 1, "runId": run, "caseId": poisoned, "resultId": run}
    letters = {
        "bad-utf8": ("proctor.runner.cases.default", b'{"v": 1, "runId": "\xff\xfe"}'),
        "unknown-version": ("proctor.collector.results", json.dumps({**good, "v": 99}).encode()),
        "unknown-routing": ("proctor.judge.cases", json.dumps(good).encode()),
        # It bears the name of a job that a runner has: nobody could tell that it is not that job.
        f"{run}:{poisoned}:1:1": ("proctor.runner.cases.default", b"[]"),
    }
    async with BrokerClient.on(fleet.amqp_url) as broker:
        for name, (queue, body) in letters.items():
            await broker.send("", queue, body, message_id=name)
    await until(lambda: letters.keys() <= fleet.dead_letters().keys())
    # A dead letter is told before its case is ended; the runner's own answer must not come in between.
    await rest.until(run, lambda view: view["progress"]["error"] == 1)
    fleet.bot.hold.set()
    view = await rest.ended(run)
    assert (view["summary"]["passed"], view["summary"]["error"]) == (4, 1)
    assert view["summary"]["errorsByCode"] == {"job_dead": 1}
    assert {fleet.dead_letters()[name] for name in letters} == {"undecodable"}
    fleet.expected |= {"dead_letter", "bus.message_refused", "bus.message_given_up"}


async def test_a_fact_that_comes_again_changes_nothing_and_costs_nothing(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    bot = await rest.bot("doubled", fleet.bot.bot_url)
    judged = {"kind": "judge", "rubric": "Бот ввічливий."}
    await rest.cases(bot, [case(number, judged) for number in range(6)])
    async with BrokerClient.on(fleet.amqp_url) as broker:
        facts = await broker.hear("proctor.events", "case.*")
        run = await rest.run(bot)
        view, results = await rest.ended(run), await rest.results(run)
        seen = await facts.first(12)
        assert Counter(fact.routing_key for fact in seen) == {"case.executed": 6, "case.judged": 6}
        before = await fleet.counted("proctor_duplicate_results_total")
        for fact in [*seen, *seen]:
            await broker.send("proctor.events", fact.routing_key or "", fact.body, message_id=fact.message_id)
        await fleet.counts("proctor_duplicate_results_total", before + 24)
    assert await rest.view(run) == view
    assert await rest.results(run) == results
    query = (
        "SELECT count(*) AS rows, count(DISTINCT (result_id, attempt, phase)) AS keys "
        "FROM result_phases WHERE run_id = $1"
    )
    rows = await fleet.rows(query, UUID(run))
    assert [dict(row) for row in rows] == [{"rows": 12, "keys": 12}]
    assert view["summary"]["judgeUsage"]["promptTokens"] == 60


async def test_a_cancel_that_a_worker_could_not_hear_reaches_it_when_it_is_back(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    async with line_to(fleet.amqp_url) as line:
        runner = await fleet.serve(
            "runner", PROCTOR_AMQP_URL=line.url, PROCTOR_POOL="high", PROCTOR_CONCURRENCY="1"
        )
        fleet.bot.hold = asyncio.Event()
        bot = await rest.bot("deaf", fleet.bot.bot_url)
        await rest.cases(bot, [case(number) for number in range(10)])
        run = await rest.run(bot, pool="high")
        await until(lambda: fleet.bot.in_flight == 1)
        await line.down()
        assert (await rest.post(f"/testing/runs/{run}/cancel"))["status"] == "cancelled"
        await line.up()
        await until(lambda: fleet.bot.in_flight == 0)
        fleet.bot.hold.set()
        other = await rest.run(bot, pool="high", caseFilter={"refs": ["c-1", "c-2"]})
        assert (await rest.ended(other))["summary"]["passed"] == 2
        assert len(fleet.bot.requests) == 3
        assert await runner.end() == 0
