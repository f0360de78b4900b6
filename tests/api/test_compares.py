"""Comparisons over HTTP before any worker has seen them, on both databases."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from proctor_contracts.messages import CaseRequested, RunCancelled
from proctor_store.repositories import accounts, outbox
from proctor_store.session import Database
from proctor_store.tables import Run, TestResult
from tests.api.conftest import BOTH, Api, QuietBus, Time, case

pytestmark = BOTH


@pytest.fixture
async def bot(api: Api) -> str:
    bot = await api.integration(agentPrompt="one")
    cases = [case(name=name, ref=name) for name in ("A", "B", "C")]
    cases.append(case(name="off", ref="off", isActive=False))
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    return bot


@pytest.fixture
async def agent(api: Api, bot: str) -> Any:
    """The bot's agent with two versions: `first` is current, `second` a draft."""
    (found,) = await api.data("GET", f"/testing/agents?integrationId={bot}")
    path = f"/testing/agents/{found['id']}/versions"
    second = await api.data("POST", path, {"prompt": "two"}, status=201)
    return found | {"first": found["currentVersionId"], "second": second["id"]}


async def start(api: Api, agent: Any, *cells: Any, status: int = 201, **more: Any) -> Any:
    body = {"matrix": list(cells), **more}
    path = f"/testing/compare/agents/{agent['id']}"
    if status < 300:
        return await api.data("POST", path, body, status=status)
    return await api.problem("POST", path, body, status=status)


def four(agent: Any) -> list[dict[str, Any]]:
    return [
        {"promptVersionId": version, "provider": provider, "model": model}
        for version in (agent["first"], agent["second"])
        for provider, model in (("openai", "gpt"), ("anthropic", "claude"))
    ]


async def test_each_cell_is_a_run_of_the_same_cases_with_its_version_and_model(api: Api, agent: Any) -> None:
    made = await start(api, agent, *four(agent), repeats=2, tags=["nightly"])
    assert (made["status"], made["cases"], made["baseline"]) == ("pending", 3, 0)
    assert [cell["label"] for cell in made["cells"]] == [
        "v1 · openai/gpt", "v1 · anthropic/claude", "v2 · openai/gpt", "v2 · anthropic/claude",
    ]  # fmt: skip
    listed = (await api("GET", f"/testing/runs?compareRunId={made['id']}")).json()["data"]
    runs = {run["id"]: run for run in listed}
    assert set(runs) == {cell["runId"] for cell in made["cells"]}
    for cell in made["cells"]:
        run = runs[cell["runId"]]
        assert (run["provider"], run["model"]) == (cell["provider"], cell["model"])
        assert (run["promptVersionId"], run["agentId"]) == (cell["promptVersionId"], agent["id"])
        assert run["agentPromptSnapshot"] == ("one" if cell["versionNumber"] == 1 else "two")
        assert (run["progress"]["total"], run["repeats"], run["tags"]) == (6, 2, ["nightly"])
        assert run["compareRunId"] == made["id"]
    whole = [(await api.data("GET", f"/testing/runs/{run}"))["caseIds"] for run in sorted(runs)]
    assert all(ids == whole[0] for ids in whole)


async def test_what_a_cell_leaves_out_comes_from_the_agent(api: Api, agent: Any) -> None:
    await api.data(
        "PATCH", f"/testing/agents/{agent['id']}", {"defaultProvider": "anthropic", "defaultModel": "claude"}
    )
    made = await start(api, agent, {}, {"provider": "openai"}, {"promptVersionId": agent["second"]})
    found = [(one["versionNumber"], one["provider"], one["model"]) for one in made["cells"]]
    assert found == [(1, "anthropic", "claude"), (1, "openai", "m"), (2, "anthropic", "claude")]


async def test_each_run_keeps_its_share_of_the_budget(api: Api, agent: Any) -> None:
    cells = [{"model": f"m{n}"} for n in range(3)]
    made = await start(api, agent, *cells, budgetCents=200, budgetMode="best_effort")
    assert made["budgetCents"] == 200
    assert [cell["budgetCents"] for cell in made["cells"]] == [67, 67, 66]
    assert [cell["run"]["budgetCents"] for cell in made["cells"]] == [67, 67, 66]


@pytest.mark.parametrize(
    ("cells", "more", "path", "code"),
    [
        ([], {}, "matrix", None),
        ([{}] * 21, {}, "matrix", None),
        ([{"provider": "gpt"}], {}, "matrix.0.provider", None),
        ([{}, {"modle": "x"}], {}, "matrix.1.modle", None),
        ([{}, {"promptVersionId": str(uuid4())}], {}, "matrix.1.promptVersionId", "no_such_version"),
        ([{}, {}], {}, "matrix.1", "duplicate_cell"),
        ([{}, {"provider": "openai", "model": "m"}], {}, "matrix.1", "duplicate_cell"),
        ([{}, {"model": "x", "pool": "nowhere"}], {}, "matrix.1.pool", None),
        ([{}, {"provider": "http"}], {"runner": "gateway"}, "matrix.1", "runner_needs_model"),
        ([{}], {"baseline": 1}, "baseline", None),
        ([{}, {"model": "x"}], {"budgetCents": 1}, "budgetCents", None),
        ([{}], {"budgetCents": 2.5}, "budgetCents", None),
        ([{}, {"model": "x"}], {"budgetCents": 10}, "matrix.0", "price_unknown"),
        ([{}], {"caseFilter": {"category": "Немає"}}, "caseFilter", "no_cases"),
        ([{}], {"caseIds": [str(uuid4())], "caseFilter": {}}, "caseFilter", None),
        ([{}], {"repeats": 21}, "repeats", None),
    ],
)
async def test_a_matrix_that_cannot_be_played_is_refused_by_its_cell_and_leaves_nothing(
    api: Api, agent: Any, *, cells: list[Any], more: dict[str, Any], path: str, code: str | None
) -> None:
    problem = await start(api, agent, *cells, status=400, **more)
    assert problem["errors"][0]["path"] == path, problem
    if code is not None:
        assert code in {problem["code"], problem["errors"][0]["code"]}
    assert (await api("GET", "/testing/runs")).json()["meta"]["total"] == 0
    assert (await api("GET", "/testing/compare")).json()["meta"]["total"] == 0


async def test_a_version_of_another_agent_names_its_cell(api: Api, agent: Any) -> None:
    other = await api.integration("other")
    (foreign,) = await api.data("GET", f"/testing/agents?integrationId={other}")
    problem = await start(api, agent, {}, {"promptVersionId": foreign["currentVersionId"]}, status=400)
    assert problem["errors"][0]["path"] == "matrix.1.promptVersionId"
    assert "another agent" in problem["errors"][0]["message"]


async def test_a_cell_without_any_model_is_refused(api: Api) -> None:
    bare = await api.integration("bare", model=None)
    await api.data("POST", "/testing/cases", {"integrationId": bare} | case(), status=201)
    (agent,) = await api.data("GET", f"/testing/agents?integrationId={bare}")
    problem = await start(api, agent, {"model": "x"}, {"provider": "anthropic"}, status=400)
    assert (problem["errors"][0]["path"], problem["errors"][0]["code"]) == ("matrix.1.model", "model_missing")


async def test_a_model_of_one_provider_is_no_default_for_another(api: Api, agent: Any) -> None:
    problem = await start(api, agent, {}, {"provider": "groq"}, status=400)
    assert (problem["errors"][0]["path"], problem["errors"][0]["code"]) == ("matrix.1.model", "model_missing")


async def test_cells_are_sent_to_the_pool_they_name(api: Api, agent: Any, database: Database) -> None:
    made = await start(api, agent, {"model": "a", "pool": "high"}, {"model": "b"})
    runs = {cell["runId"] for cell in made["cells"]}
    async with database.transaction() as unit:
        rows = await outbox.take(unit, limit=1_000)
    keys = {
        (CaseRequested.model_validate_json(row.body).agent.model, row.key)
        for row in rows
        if str(row.run_id) in runs
    }
    assert keys == {("a", "case.requested.high"), ("b", "case.requested.default")}


async def test_an_idempotency_key_starts_one_comparison(api: Api, agent: Any) -> None:
    path = f"/testing/compare/agents/{agent['id']}"
    headers = {"Idempotency-Key": "k1"}
    first = await api.data("POST", path, {"matrix": [{}]}, status=201, headers=headers)
    assert (await api.data("POST", path, {"matrix": [{}]}, headers=headers))["id"] == first["id"]
    await api.problem("POST", path, {"matrix": [{"model": "x"}]}, status=409, headers=headers)
    assert (await api("GET", "/testing/compare")).json()["meta"]["total"] == 1


async def test_comparisons_are_listed_newest_first_by_agent(api: Api, agent: Any) -> None:
    first = await start(api, agent, {})
    second = await start(api, agent, {}, {"model": "x"}, baseline=1)
    assert second["baseline"] == 1
    listed = await api.data("GET", f"/testing/compare?agentId={agent['id']}")
    assert [one["id"] for one in listed] == [second["id"], first["id"]]
    assert await api.data("GET", f"/testing/compare?agentId={uuid4()}") == []
    stranger = await api.another("umbrella")
    assert await stranger.data("GET", "/testing/compare") == []
    await stranger.problem("GET", f"/testing/compare/{first['id']}", status=404)
    await stranger.problem("POST", f"/testing/compare/{first['id']}/cancel", status=404)
    await stranger.problem("POST", f"/testing/compare/agents/{agent['id']}", {"matrix": [{}]}, status=404)


async def test_cancelling_ends_every_cell_that_goes_on(api: Api, agent: Any, bus: QuietBus) -> None:
    made = await start(api, agent, {}, {"model": "x"}, {"model": "y"})
    runs = [cell["runId"] for cell in made["cells"]]
    await api.data("POST", f"/testing/runs/{runs[1]}/cancel")
    bus.sent.clear()
    done = await api.data("POST", f"/testing/compare/{made['id']}/cancel")
    assert done["status"] == "cancelled"
    assert {cell["run"]["status"] for cell in done["cells"]} == {"cancelled"}
    assert [message.run_ids for message in bus.sent if isinstance(message, RunCancelled)] == [
        (UUID(runs[0]), UUID(runs[2]))
    ]
    again = await api.data("POST", f"/testing/compare/{made['id']}/cancel")
    assert (again["status"], again["completedAt"]) == ("cancelled", done["completedAt"])


async def ended(database: Database, run_id: str, statuses: list[str]) -> None:
    """End a run with these results, in its order."""
    async with database.transaction() as unit:
        for ordinal, status in enumerate(statuses):
            await unit.connection.execute(
                update(TestResult)
                .where(TestResult.run_id == UUID(run_id), TestResult.ordinal == ordinal)
                .values(status=status, first_status=status, stage="done", attempt=1)
            )
        await unit.connection.execute(
            update(Run).where(Run.id == UUID(run_id)).values(status="completed", remaining=0)
        )


async def test_the_detail_lays_cases_side_by_side_and_tests_pairs_when_all_is_over(
    api: Api, agent: Any, database: Database
) -> None:
    made = await start(api, agent, {}, {"model": "x"}, {"model": "y"})
    runs = [cell["runId"] for cell in made["cells"]]
    await ended(database, runs[0], ["passed"] * 3)
    going = await api.data("GET", f"/testing/compare/{made['id']}")
    assert (going["status"], going["pairs"], going["completedAt"]) == ("running", [], None)
    await ended(database, runs[1], ["passed", "failed", "passed"])
    await ended(database, runs[2], ["error"] * 3)
    whole = await api.data("GET", f"/testing/compare/{made['id']}")
    assert whole["status"] == "completed"
    assert whole["rowsTotal"] == 3
    by_ref = {row["caseRef"]: [cell["status"] for cell in row["cells"]] for row in whole["rows"]}
    assert by_ref["B"] == ["passed", "failed", "error"]
    assert [(pair["a"], pair["b"], pair["verdict"]) for pair in whole["pairs"]] == [
        (0, 1, "no_evidence"), (0, 2, "not_comparable"), (1, 2, "not_comparable"),
    ]  # fmt: skip
    assert whole["pairs"][0]["broken"] == ["B"]
    page = await api.data("GET", f"/testing/compare/{made['id']}?take=1&skip=1")
    assert [row["caseId"] for row in page["rows"]] == [whole["rows"][1]["caseId"]]


async def test_a_deleted_run_leaves_its_cell_and_the_others_readable(
    api: Api, agent: Any, database: Database
) -> None:
    made = await start(api, agent, {}, {"model": "x"})
    runs = [cell["runId"] for cell in made["cells"]]
    for run in runs:
        await ended(database, run, ["passed"] * 3)
    assert (await api("DELETE", f"/testing/runs/{runs[1]}")).status_code == 204
    whole = await api.data("GET", f"/testing/compare/{made['id']}")
    assert [cell["run"] is None for cell in whole["cells"]] == [False, True]
    assert whole["status"] == "completed"
    assert whole["pairs"][0]["verdict"] == "not_comparable"


async def test_a_comparison_counts_as_many_runs_as_it_has_cells(
    api: Api, agent: Any, database: Database, time: Time
) -> None:
    async with database.transaction() as unit:
        await accounts.change(unit, api.caller.account_id, {"runs_per_minute": 3})
    await start(api, agent, {}, {"model": "x"})
    limited = await start(api, agent, {}, {"model": "x"}, status=429)
    assert limited["code"] == "too_many_requests"
    await start(api, agent, {})
    time.pass_(61)
    await start(api, agent, {}, {"model": "x"}, {"model": "y"})
    async with database.transaction() as unit:
        await accounts.change(unit, api.caller.account_id, {"balance_micro": 0})
    await start(api, agent, {}, status=402)
