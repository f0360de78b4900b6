"""Runs over HTTP before any worker has seen them, on both databases."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from proctor_api.usecases import run_writing
from proctor_contracts.messages import CaseRequested, RunCancelled
from proctor_store.repositories import accounts, outbox
from proctor_store.session import Database
from tests.api.conftest import BOTH, Api, QuietBus, Time, case

pytestmark = BOTH


@pytest.fixture
async def bot(api: Api) -> str:
    bot = await api.integration(agentPrompt="Ти — асистент.")
    cases = [
        case(name="a", ref="A", priority="high", tags=["x"]),
        case(name="b", ref="B", category="Тон", tags=["x", "y"]),
        case(name="c", ref="C", isActive=False),
    ]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    return bot


async def start(api: Api, bot: str, *, status: int = 201, **more: Any) -> Any:
    body = {"integrationId": bot, **more}
    if "caseIds" not in more:
        body.setdefault("caseFilter", {})
    if status < 300:
        return await api.data("POST", "/testing/runs", body, status=status)
    return await api.problem("POST", "/testing/runs", body, status=status)


async def limit(api: Api, database: Database, **columns: int) -> None:
    async with database.transaction() as unit:
        await accounts.change(unit, api.caller.account_id, columns)


@pytest.mark.parametrize(
    ("chosen", "total"),
    [
        ({}, 2),
        ({"priority": "high"}, 1),
        ({"category": " Тон "}, 1),
        ({"tags": ["x"]}, 2),
        ({"tags": ["x", "y"]}, 1),
        ({"refs": ["B", "Z"]}, 1),
    ],
)
async def test_a_filter_takes_the_active_cases_that_match(
    api: Api, bot: str, chosen: dict[str, Any], total: int
) -> None:
    run = await start(api, bot, caseFilter=chosen, repeats=2)
    assert (run["status"], run["mode"], run["progress"]["total"]) == ("pending", "case", 2 * total)
    assert run["agentPromptSnapshot"] == "Ти — асистент."
    results = (await api("GET", f"/testing/runs/{run['id']}/results")).json()
    assert results["meta"]["total"] == 2 * total
    assert {one["status"] for one in results["data"]["results"]} <= {"pending", "running"}


async def test_cases_can_be_named_and_must_belong_to_the_integration(api: Api, bot: str) -> None:
    ids = [one["id"] for one in (await api("GET", "/testing/cases")).json()["data"]]
    run = await start(api, bot, caseIds=ids)
    assert sorted(run["caseIds"]) == sorted(ids)
    other = await api.integration("other")
    problem = await start(api, other, caseIds=ids[:1], status=404)
    assert problem["errors"][0]["path"] == "caseIds.0"
    await start(api, bot, caseIds=[str(uuid4())], status=404)
    await start(await api.another("umbrella"), bot, status=404)


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"caseFilter": None}, None, None),
        ({"caseFilter": {"category": "Немає"}}, "caseFilter", "no_cases"),
        ({"weather": ["ok"]}, "weather", "runner_calls_no_tools"),
        ({"runner": "gateway", "weather": ["storm"]}, "weather.0", None),
        ({"runner": "gateway", "provider": "http"}, "runner", "runner_needs_model"),
        ({"onToolError": "error"}, "onToolError", "runner_calls_no_tools"),
        ({"caseFilter": None, "personaIds": [str(uuid4())]}, "personaIds", "not_available_yet"),
        ({"retriesOnFailure": 6}, "retriesOnFailure", None),
        ({"repeats": 21}, "repeats", None),
        ({"scoreThreshold": 101}, "scoreThreshold", None),
        ({"concurrency": 0}, "concurrency", None),
        ({"pool": "nowhere"}, "pool", None),
        ({"trigger": "cron"}, "trigger", None),
        ({"modle": "m"}, "modle", None),
        ({"budgetCents": 0}, "budgetCents", None),
        ({"budgetCents": 100}, "budgetMode", "price_unknown"),
    ],
)
async def test_a_run_that_cannot_be_played_is_400_and_leaves_nothing(
    api: Api, bot: str, body: dict[str, Any], path: str | None, code: str | None
) -> None:
    problem = await start(api, bot, status=400, **body)
    if path is not None:
        assert problem["errors"][0]["path"] == path
    if code is not None:
        assert problem["code"] == code
    assert (await api("GET", "/testing/runs")).json()["meta"]["total"] == 0


async def test_an_idempotency_key_starts_one_run(api: Api, bot: str) -> None:
    body = {"integrationId": bot, "caseFilter": {}}
    headers = {"Idempotency-Key": "once"}
    first = await api.data("POST", "/testing/runs", body, status=201, headers=headers)
    again = await api.data("POST", "/testing/runs", body, status=200, headers=headers)
    assert again["id"] == first["id"]
    problem = await api.problem("POST", "/testing/runs", body | {"repeats": 2}, status=409, headers=headers)
    assert problem["code"] == "idempotency_key_reused"
    assert (await api("GET", "/testing/runs")).json()["meta"]["total"] == 1
    for bad in ("", "x" * 129):
        await api.problem("POST", "/testing/runs", body, headers={"Idempotency-Key": bad})


async def test_without_money_it_is_402_and_beyond_the_quota_429(
    api: Api, bot: str, database: Database, time: Time
) -> None:
    await limit(api, database, balance_micro=0)
    assert (await start(api, bot, status=402))["code"] == "balance_exhausted"
    await limit(api, database, balance_micro=1_000_000, runs_per_minute=2)
    await start(api, bot)
    time.pass_(20)
    await start(api, bot)
    response = await api("POST", "/testing/runs", {"integrationId": bot, "caseFilter": {}})
    assert response.status_code == 429
    wait = int(response.headers["retry-after"])
    assert 1 <= wait <= 40
    time.pass_(wait)
    await start(api, bot)


async def test_cancel_answers_at_once_and_a_second_one_changes_nothing(
    api: Api, bot: str, bus: QuietBus
) -> None:
    run = await start(api, bot)
    path = f"/testing/runs/{run['id']}"
    await api.problem("DELETE", path, status=409)
    first = await api.data("POST", f"{path}/cancel")
    assert (first["status"], first["progress"]["cancelled"], first["progress"]["done"]) == ("cancelled", 2, 2)
    assert await api.data("POST", f"{path}/cancel") == first
    assert [type(message) for message in bus.sent] == [RunCancelled]
    assert (await api("DELETE", path)).status_code == 204
    await api.problem("DELETE", path, status=404)
    await api.problem("GET", f"{path}/results", status=404)


async def test_runs_are_listed_by_what_they_are(api: Api, bot: str) -> None:
    other = await api.integration("other")
    await api.data("POST", "/testing/cases", case(integrationId=other), status=201)
    one = await start(api, bot, tags=["nightly"], trigger="ci_cd")
    two = await start(api, other)
    await api.data("POST", f"/testing/runs/{two['id']}/cancel")
    for query, found in (
        ("", [two, one]),
        (f"integrationId={bot}", [one]),
        ("status=cancelled", [two]),
        ("trigger=ci_cd", [one]),
        ("tag=nightly", [one]),
        ("tag=night", []),
        (f"compareRunId={uuid4()}", []),
        ("take=1", [two]),
    ):
        listed = (await api("GET", f"/testing/runs?{query}")).json()
        assert [run["id"] for run in listed["data"]] == [run["id"] for run in found], query
        if query == "take=1":
            following = (
                await api("GET", f"/testing/runs?take=1&cursor={listed['meta']['nextCursor']}")
            ).json()
            assert [run["id"] for run in following["data"]] == [one["id"]]
    assert (await (await api.another("umbrella"))("GET", "/testing/runs")).json()["data"] == []


async def test_results_are_paged_in_the_runs_order_and_filtered(api: Api) -> None:
    bot = await api.integration()
    cases = [case(name=f"{n:02}", category="Тон" if n % 2 else "Мова") for n in range(25)]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    run = await start(api, bot)
    seen: list[str] = []
    path: str | None = f"/testing/runs/{run['id']}/results?take=10"
    while path is not None:
        response = await api("GET", path)
        seen.extend(one["caseName"] for one in response.json()["data"]["results"])
        link = response.headers.get("link")
        path = None if link is None else link.partition(">")[0].removeprefix("</api")
    assert seen == [f"{n:02}" for n in range(25)]
    for query, count in (
        ("category=%D0%A2%D0%BE%D0%BD", 12),
        ("q=07", 1),
        ("status=passed", 0),
        ("flaky=true", 0),
        ("imperfect=true", 25),
        ("imperfect=false", 0),
    ):
        found = (await api("GET", f"/testing/runs/{run['id']}/results?{query}")).json()
        assert found["meta"]["total"] == len(found["data"]["results"]) == count, query


@pytest.mark.parametrize(
    ("fmt", "media", "part"),
    [
        ("json", "application/json", '"proctor.run/1"'),
        ("junit", "application/xml", "<testsuite"),
        ("markdown", "text/markdown", "#"),
        ("csv", "text/csv", "status"),
    ],
)
async def test_a_run_can_be_taken_away(api: Api, bot: str, fmt: str, media: str, part: str) -> None:
    run = await start(api, bot)
    await api.data("POST", f"/testing/runs/{run['id']}/cancel")
    response = await api("GET", f"/testing/runs/{run['id']}/export?format={fmt}")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith(media)
    assert f"run-{run['id']}" in response.headers["content-disposition"]
    assert part in response.text
    problem = await api.problem("GET", f"/testing/runs/{run['id']}/export?format=pdf")
    assert problem["errors"][0]["path"] == "format"


async def test_a_rerun_plays_the_old_snapshots(api: Api, bot: str) -> None:
    run = await start(api, bot)
    path = f"/testing/runs/{run['id']}"
    await api.problem("POST", f"{path}/rerun", status=409)
    await api.data("POST", f"{path}/cancel")
    await api("DELETE", f"/testing/cases/{run['caseIds'][0]}")
    again = await api.data("POST", f"{path}/rerun", status=201)
    assert (again["rerunOf"], again["caseIds"]) == (run["id"], run["caseIds"])
    unfinished = await api.data("POST", f"{path}/rerun", {"which": "unfinished"}, status=201)
    assert unfinished["progress"]["total"] == 2
    problem = await api.problem("POST", f"{path}/rerun", {"which": "failed"})
    assert problem["errors"][0]["path"] == "which"
    problem = await api.problem("POST", f"{path}/rerun", {"which": "some"})
    assert problem["errors"][0]["path"] == "which"


async def jobs(database: Database, run: str) -> list[CaseRequested]:
    async with database.transaction() as unit:
        waiting = await outbox.take(unit, limit=1_000)
    bodies = [row.body for row in waiting if row.key.startswith("case.requested") and str(row.run_id) == run]
    return list(map(CaseRequested.model_validate_json, bodies))


async def test_a_gateway_run_plays_every_weather_and_so_does_its_rerun(
    api: Api, bot: str, database: Database
) -> None:
    handler = {"name": "order.find", "isSideEffect": False, "headers": {"A": {"secret": "KEY"}}}
    await api.data("POST", f"/integrations/{bot}/handlers", handler, status=201)
    weather = ["ok", "timeout@1", "poison:order.*"]
    asked: dict[str, Any] = {
        "runner": "gateway",
        "weather": weather,
        "repeats": 2,
        "onToolError": "error",
        "dryRun": False,
    }
    run = await start(api, bot, **asked)
    assert (run["progress"]["total"], run["weather"], run["onToolError"]) == (12, weather, "error")
    assert (run["runner"], run["dryRun"], run["repeats"], run["warnings"]) == ("gateway", False, 2, [])
    path = f"/testing/runs/{run['id']}"
    results = (await api("GET", f"{path}/results")).json()["data"]["results"]
    seen = [(one["caseRef"], one["trial"], one["weather"]) for one in results]
    assert seen == [(ref, trial, weather[(trial - 1) % 3]) for trial in range(1, 7) for ref in ("A", "B")]
    sent = await jobs(database, run["id"])
    assert sorted((job.case.ref, job.trial, job.weather) for job in sent) == sorted(seen)
    assert {job.seed for job in sent} == {
        f"{ref}|{again}|{one}" for ref in ("A", "B") for again in (1, 2) for one in weather
    }
    assert {(job.runner, job.dry_run, job.on_tool_error) for job in sent} == {("gateway", False, "error")}
    [tool] = sent[0].agent.handlers
    assert (tool.name, tool.is_side_effect, tool.headers) == ("order.find", False, {"A": {"secret": "KEY"}})

    # The handler of today does not reach the run of yesterday.
    found = (await api("GET", f"/integrations/{bot}/handlers")).json()["data"]
    await api("DELETE", f"/integrations/{bot}/handlers/{found[0]['id']}")
    await api.data("POST", f"{path}/cancel")
    again = await api.data("POST", f"{path}/rerun", {"which": "unfinished"}, status=201)
    assert (again["progress"]["total"], again["weather"], again["runner"]) == (12, weather, "gateway")
    replayed = await jobs(database, again["id"])
    assert {job.seed for job in replayed} == {job.seed for job in sent}
    assert replayed[0].agent.handlers == sent[0].agent.handlers


async def test_a_run_that_does_not_see_what_its_cases_ask_for_says_so(api: Api, bot: str) -> None:
    assert (await start(api, bot))["warnings"] == []
    asked = [{"kind": "state", "noOtherWrites": True}, {"kind": "tool_call", "toolName": "t"}]
    await api.data("POST", "/testing/cases", case(ref="T", integrationId=bot, assertions=asked), status=201)
    [warning] = (await start(api, bot))["warnings"]
    assert (warning["path"], warning["code"]) == ("runner", "no_tool_capture")
    assert "a case asserts" in warning["message"]
    [warning] = (await start(api, bot, runner="gateway"))["warnings"]
    assert warning["code"] == "no_handlers"


async def test_more_results_than_a_run_can_have_are_refused(
    api: Api, bot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_writing, "MOST_RESULTS", 11)
    problem = await start(api, bot, status=400, runner="gateway", weather=["ok", "stale", "5xx"], repeats=2)
    assert (problem["code"], problem["errors"][0]["path"]) == ("too_many_results", "weather")
    problem = await start(api, bot, status=400, repeats=6)
    assert problem["errors"][0]["path"] == "repeats"
    assert (await start(api, bot, repeats=5))["progress"]["total"] == 10


async def test_two_runs_can_be_compared(api: Api, bot: str) -> None:
    one, two = await start(api, bot), await start(api, bot)
    found = await api.data("GET", f"/testing/runs/{one['id']}/diff/{two['id']}")
    assert (found["runA"], found["runB"]) == (one["id"], two["id"])
    await api.problem("GET", f"/testing/runs/{one['id']}/diff/{uuid4()}", status=404)


async def test_deleting_an_integration_takes_its_runs_along(api: Api, bot: str) -> None:
    run = await start(api, bot)
    assert (await api("DELETE", f"/integrations/{bot}")).status_code == 204
    await api.problem("GET", f"/testing/runs/{run['id']}", status=404)
    assert (await api("GET", "/testing/cases")).json()["meta"]["total"] == 0
