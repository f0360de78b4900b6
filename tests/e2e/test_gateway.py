"""Models with tools on real servers: dry runs write nothing, weather repeats itself, secrets stay secret."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from tests.e2e.conftest import Platform
from tests.support.platform_processes import case
from tests.support.rest import Rest
from tests.support.stub_provider import Reply, Say, Seen, Tool
from tests.support.webhooks import Call, Raw, WebhookServer

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]

CANARY = "canary-3f9c1d77-of-the-shop"
HANDLERS: list[dict[str, Any]] = [
    {"name": "find_refund", "isSideEffect": False},
    {"name": "create_refund", "isSideEffect": True},
    {"name": "cancel_order", "body": {"orderId": "A-1"}},  # says nothing, which counts as a side effect
]


def called(seen: Seen) -> list[str]:
    """The tools that were called since the user spoke."""
    messages = seen.body["messages"]
    last = max(place for place, one in enumerate(messages) if one["role"] == "user")
    return [
        use["function"]["name"]
        for one in messages[last:]
        if one["role"] == "assistant"
        for use in one.get("tool_calls") or ()
    ]


def careful(seen: Seen) -> Reply:
    """A model that looks, writes, looks again, cancels the order, and says so."""
    number = seen.last_user_text.rpartition("№")[2]
    refund, order = {"id": f"R-{number}"}, {"orderId": f"A-{number}"}
    plan = (
        Tool("find_refund", refund),
        Tool("create_refund", {**refund, "amount": 5}),
        Tool("find_refund", refund),
        Tool("cancel_order", order),
    )
    done = len(called(seen))
    return Say(tools=(plan[done],)) if done < len(plan) else Say(f"Готово, №{number}")


async def bot(rest: Rest, name: str, model: str, hooks: WebhookServer, **more: Any) -> str:
    """An agent behind an OpenAI-compatible endpoint, with the handlers as webhooks."""
    body = {"name": name, "provider": "openai", "model": "stub", "endpoint": {"url": model}}
    made = str((await rest.post("/integrations", body))["id"])
    for handler in HANDLERS:
        url = f"{hooks.url}/{handler['name']}"
        await rest.post(f"/integrations/{made}/handlers", {**handler, "url": url, **more})
    return made


async def test_a_dry_run_of_a_hundred_cases_writes_nothing_and_knows_what_it_would_have(
    platform: Platform,
) -> None:
    fleet, rest = platform.fleet, platform.one
    fleet.bot.answer = careful
    async with WebhookServer() as hooks:
        hooks.answers["/find_refund"] = {"found": False}
        agent = await bot(rest, "dry", fleet.bot.openai_url, hooks)
        checks: list[dict[str, Any]] = [
            {"kind": "state", "noOtherWrites": True, "expect": [
                {"entity": "refund", "action": "create", "count": 1, "where": {"amount": 5}},
                {"entity": "order", "action": "delete", "count": 1},
            ]},
            {"kind": "tool_sequence", "mode": "exact", "steps": [
                {"toolName": name} for name in ("find_refund", "create_refund", "find_refund", "cancel_order")
            ]},
        ]  # fmt: skip
        await rest.cases(agent, [case(number, *checks) for number in range(100)])
        run = await rest.run(agent, runner="gateway", concurrency=50)
        view = await rest.ended(run)
        assert (view["progress"]["passed"], view["warnings"]) == (100, [])
        assert Counter(call.path for call in hooks.calls) == {"/find_refund": 100}
    results = await rest.results(run)
    for result in results:
        number = result["caseRef"].removeprefix("c-")
        assert [(one["action"], one["entity"], one["key"]) for one in result["effects"]] == [
            ("create", "refund", f"R-{number}"),
            ("delete", "order", f"A-{number}"),
        ]
        assert all(one["dryRun"] for one in result["effects"])
        calls = [call for entry in result["transcript"] for call in entry["toolCalls"]]
        assert [call["dryRun"] for call in calls] == [False, True, True, True]
        # What was written is read back, though nothing was.
        assert calls[2]["result"]["amount"] == 5
    assert len(results) == 100
    events = [event async for event in rest.events(run) if event.event == "case.executed"]
    assert {(event.data["toolCalls"], event.data["effects"]) for event in events} == {(4, 2)}


def struck(result: Any) -> Any:
    """What weather did in a result, call by call."""
    calls = [call for entry in result["transcript"] for call in entry["toolCalls"]]
    told = [(call["name"], call["error"], "PROCTOR-POISON" in json.dumps(call["result"])) for call in calls]
    return result["caseRef"], result["trial"], result["weather"], told


async def test_weather_makes_fifteen_results_of_five_cases_and_strikes_the_same_calls_again(
    platform: Platform,
) -> None:
    fleet = platform.fleet
    fleet.bot.answer = careful
    weather = ["ok", "timeout@1", "poison"]
    async with WebhookServer() as hooks:
        agent = await bot(platform.one, "weather", fleet.bot.openai_url, hooks)
        await platform.one.cases(agent, [case(number) for number in range(5)])
        seen = []
        for rest in (platform.one, platform.two):
            run = await rest.run(agent, runner="gateway", weather=weather)
            view = await rest.ended(run)
            assert (view["progress"]["total"], view["weather"]) == (15, weather)
            seen.append(sorted(map(struck, await rest.results(run))))
            exported = await rest.call("GET", f"/testing/runs/{run}/export?format=json")
            assert Counter(result["weather"] for result in exported.body["results"]) == dict.fromkeys(
                weather, 5
            )
            told = [event.data async for event in rest.events(run) if event.event == "case.executed"]
            assert Counter(event["weather"] for event in told) == dict.fromkeys(weather, 5)
    assert seen[0] == seen[1]
    for _, trial, name, calls in seen[0]:
        assert name == weather[trial - 1]
        faults = [(error or "").partition(":")[0] or poisoned for _, error, poisoned in calls]
        assert (
            faults
            == {
                "ok": [False, False, False, False],
                "timeout@1": ["timeout", False, False, False],
                "poison": [True, False, False, False],
            }[name]
        )


async def test_a_secret_of_a_handler_is_in_no_byte_of_database_logs_events_and_exports(
    platform: Platform,
) -> None:
    fleet, rest = platform.fleet, platform.one
    runner = await fleet.serve("runner", PROCTOR_POOL="high", PROCTOR_SECRET_SHOP_TOKEN=CANARY)

    def tell(call: Call) -> Any:
        """A handler that cannot keep it to itself, in an answer as in an error."""
        told = {"token": call.headers["Authorization"], call.headers["Authorization"]: 1}
        failed = call.path == "/create_refund"
        return Raw(json.dumps(told).encode(), status=500) if failed else told

    def parrot(seen: Seen) -> Reply:
        """A model that repeats what it reads, in words and in arguments."""
        told = re.findall(r"canary-[0-9a-z-]+", json.dumps(seen.body["messages"]))
        leaked = told[-1] if told else "nothing"
        plan = ("find_refund", "create_refund", "cancel_order")
        done = len(called(seen))
        if done < len(plan):
            return Say(f"Бачу {leaked}", tools=(Tool(plan[done], {"id": leaked, leaked: leaked}),))
        return Say(f"Токен: {leaked}")

    fleet.bot.answer = parrot
    async with WebhookServer() as hooks:
        hooks.answers |= {f"/{handler['name']}": tell for handler in HANDLERS}
        headers = {"Authorization": {"secret": "SHOP_TOKEN"}}
        agent = await bot(rest, "canary", fleet.bot.openai_url, hooks, headers=headers)
        checks: list[dict[str, Any]] = [
            {"kind": "not_contains", "value": "Токен"},
            {"kind": "state", "noOtherWrites": True},
            {"kind": "grounded_facts"},
        ]
        await rest.cases(agent, [case(number, *checks) for number in range(3)])
        run = await rest.run(agent, runner="gateway", dryRun=False, pool="high")
        assert (await rest.ended(run))["progress"]["failed"] == 3
        assert {call.headers["Authorization"] for call in hooks.calls} == {CANARY}
        assert len(hooks.calls) == 9
        assert any(CANARY in json.dumps(seen.body) for seen in fleet.bot.requests)
    # Others rely on a pool that nobody serves.
    assert await runner.end() == 0

    held: dict[str, str] = {}
    for (table,) in await fleet.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        rows = await fleet.rows(f'SELECT t::text FROM "{table}" t')  # noqa: S608 - the database's own names
        held[f"table {table}"] = "\n".join(row[0] for row in rows)
    held["logs"] = json.dumps([process.events for _, process in fleet.processes], ensure_ascii=False)
    held["events"] = json.dumps([event.data async for event in rest.events(run)], ensure_ascii=False)
    held["results"] = json.dumps(await rest.results(run), ensure_ascii=False)
    for form in ("json", "junit", "markdown", "csv"):
        url = f"{rest.url}/api/testing/runs/{run}/export?format={form}"
        async with rest.session.get(url, headers={"Authorization": f"Bearer {rest.key}"}) as exported:
            held[f"export {form}"] = await exported.text()
    assert "SHOP_TOKEN" in held["table handlers"]
    assert "Токен" in held["table result_phases"]
    assert [place for place, text in held.items() if CANARY in text] == []


async def test_every_attempt_of_a_retried_case_meets_the_same_weather_and_keeps_its_ledger(
    platform: Platform,
) -> None:
    fleet, rest = platform.fleet, platform.one
    fleet.bot.answer = careful
    async with WebhookServer() as hooks:
        agent = await bot(rest, "retried", fleet.bot.openai_url, hooks)
        await rest.cases(agent, [case(1, {"kind": "state", "noOtherWrites": True})])
        run = await rest.run(agent, runner="gateway", weather=["timeout@?"], retriesOnFailure=1)
        await rest.ended(run)
    [result] = (await rest.get(f"/testing/runs/{run}/results?includeAttempts=true"))["results"]
    assert (result["status"], result["attemptCount"], result["weather"]) == ("failed", 2, "timeout@?")
    first, second = result["attempts"]
    assert len(first["effects"]) == 2
    assert first["effects"] == second["effects"] == result["effects"]
    faults = [
        [call["error"] for entry in attempt["transcript"] for call in entry["toolCalls"]]
        for attempt in (first, second)
    ]
    assert faults[0] == faults[1]
    assert sum(error is not None for error in faults[0]) == 1
    told = [event async for event in rest.events(run) if event.event == "case.retried"]
    assert [(event.data["weather"], event.data["effects"]) for event in told] == [("timeout@?", 2)]
