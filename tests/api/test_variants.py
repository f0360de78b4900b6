"""Variants of a prompt drafted by a meta model, with a model that answers as a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import insert, update

from proctor_api.usecases.meta import MetaFailed, MetaModel
from proctor_api.usecases.variant_request import (
    DATA_CHARS,
    Conversation,
    most_tokens,
    read_variants,
    request_data,
)
from proctor_store.repositories import accounts
from proctor_store.session import Database
from proctor_store.tables import ResultPhase, TestResult
from tests.api.conftest import Api, case


class FakeMeta:
    """Answers what it was told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer: str | Exception = "{}"
        self.asked: list[tuple[str, str, int]] = []
        self.meanwhile: Callable[[], Any] | None = None

    async def ask(self, *, instructions: str, data: str, max_tokens: int = 4_000) -> str:
        self.asked.append((instructions, data, max_tokens))
        if self.meanwhile is not None:
            await self.meanwhile()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    @property
    def data(self) -> Any:
        return json.loads(self.asked[-1][1])


@pytest.fixture
def model() -> FakeMeta:
    return FakeMeta()


@pytest.fixture
def meta(model: FakeMeta) -> MetaModel:
    return model


@pytest.fixture
async def bot(api: Api) -> str:
    return await api.integration(agentPrompt="Продавай дорого.")


@pytest.fixture
async def agent(api: Api, bot: str) -> Any:
    (found,) = await api.data("GET", f"/testing/agents?integrationId={bot}")
    return found


def variants(*prompts: str) -> str:
    return json.dumps({"variants": [{"prompt": prompt, "rationale": f"бо {prompt}"} for prompt in prompts]})


async def generate(api: Api, agent: Any, *, status: int = 201, **more: Any) -> Any:
    body = {"feedback": "Бот нав'язує дорогі позиції", **more}
    response = await api("POST", f"/testing/agents/{agent['id']}/generate", body)
    assert response.status_code == status, response.text
    return response.json()


async def test_variants_become_drafts_with_lineage_and_context(api: Api, agent: Any, model: FakeMeta) -> None:
    model.answer = variants("Радь доречне.", "Питай про бюджет.")
    made = await generate(api, agent, variantCount=2)
    assert [one["prompt"] for one in made["data"]] == ["Радь доречне.", "Питай про бюджет."]
    assert [one["versionNumber"] for one in made["data"]] == [2, 3]
    for one in made["data"]:
        assert (one["source"], one["isCurrent"]) == ("ai_generated", False)
        assert one["parentVersionId"] == agent["currentVersionId"]
        assert one["generationContext"].startswith("Feedback: Бот нав'язує")
        assert f"бо {one['prompt']}" in one["generationContext"]
    assert made["warnings"] == []
    assert model.data["prompt"] == "Продавай дорого."
    assert "2 variants" in model.asked[0][0]


async def test_another_version_can_be_the_base(api: Api, agent: Any, model: FakeMeta) -> None:
    path = f"/testing/agents/{agent['id']}/versions"
    second = await api.data("POST", path, {"prompt": "Друга."}, status=201)
    model.answer = variants("Третя.")
    made = await generate(api, agent, baseVersionId=second["id"], variantCount=1)
    assert made["data"][0]["parentVersionId"] == second["id"]
    assert model.data["prompt"] == "Друга."


@pytest.mark.parametrize(
    "answer",
    [
        MetaFailed("no answer within 60 s"),
        "",
        "I cannot help with that.",
        "{",
        "[]",
        '{"variants": "none"}',
        '{"variants": [{"prompt": 7}, {"prompt": "  "}, "text", {"rationale": "x"}]}',
        '{"variants": [{"prompt": "Продавай дорого. "}]}',
        '{"variants": [{"prompt": "a\\u0000b"}]}',
        json.dumps({"variants": [{"prompt": "ї" * 131_073}]}),
        "[" * 100_000,
    ],
)
async def test_a_model_that_fails_gives_no_data_and_a_warning(
    api: Api, agent: Any, model: FakeMeta, answer: str | Exception
) -> None:
    model.answer = answer
    made = await generate(api, agent, status=200)
    assert made["data"] == []
    assert [one["code"] for one in made["warnings"]] == ["nothing_generated"]
    assert len(await api.data("GET", f"/testing/agents/{agent['id']}/versions")) == 1


async def test_fewer_variants_than_asked_for_are_kept_and_said(api: Api, agent: Any, model: FakeMeta) -> None:
    model.answer = f"Here you are:\n```json\n{variants('A', 'A', 'Б')}\n```"
    made = await generate(api, agent)
    assert [one["prompt"] for one in made["data"]] == ["A", "Б"]
    assert [one["code"] for one in made["warnings"]] == ["fewer_variants"]
    model.answer = variants("1", "2", "3")
    assert len((await generate(api, agent, variantCount=2))["data"]) == 2


async def test_rules_are_the_rubrics_of_forty_active_cases_the_important_first(
    api: Api, agent: Any, bot: str, model: FakeMeta
) -> None:
    judge = {"kind": "judge", "rubric": "не нав'язує"}
    cases = [case(ref=f"L{n}", name=f"l{n}", priority="low", rubric=f"низьке {n}") for n in range(45)]
    cases += [
        case(ref="H", name="h", priority="high", rubric="високе", assertions=[judge]),
        case(ref="off", name="off", priority="high", rubric="вимкнене", isActive=False),
        case(ref="plain", name="plain"),
    ]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    model.answer = variants("x")
    await generate(api, agent, variantCount=1)
    rules = model.data["rules"]
    assert len(rules) == 40
    assert rules[0] == "високе\nне нав'язує"
    assert rules[1] == "низьке 0"


async def failed_run(api: Api, database: Database, bot: str, *, count: int) -> str:
    """A run with so many failed results of twelve messages each, and a passed one."""
    cases = [case(ref=f"c{n}", name=f"кейс {n}") for n in range(count + 1)]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    run = await api.data("POST", "/testing/runs", {"integrationId": bot, "caseFilter": {}}, status=201)
    results = (await api("GET", f"/testing/runs/{run['id']}/results")).json()["data"]["results"]
    transcript = [{"role": "tester" if n % 2 == 0 else "agent", "content": f"репліка {n}"} for n in range(12)]
    checks = [
        {"index": 0, "kind": "contains", "verdict": "failed", "message": "немає «Вітаю»"},
        {"index": 1, "kind": "lang", "verdict": "passed", "message": "гаразд"},
    ]
    async with database.transaction() as unit:
        for place, result in enumerate(results):
            status = "failed" if place < count else "passed"
            await unit.connection.execute(
                update(TestResult)
                .where(TestResult.id == UUID(result["id"]))
                .values(status=status, stage="done", attempt=1, deciding_attempt=1, history=[[status, 0]])
            )
            await unit.connection.execute(
                insert(ResultPhase).values(
                    result_id=UUID(result["id"]),
                    run_id=UUID(run["id"]),
                    attempt=1,
                    phase="executed",
                    payload={"transcript": transcript, "assertionResults": checks},
                )
            )
    return str(run["id"])


async def test_failed_conversations_are_read_within_the_limits(
    api: Api, database: Database, agent: Any, bot: str, model: FakeMeta
) -> None:
    run = await failed_run(api, database, bot, count=7)
    model.answer = variants("x")
    made = await generate(api, agent, failedRunIds=[run] * 6, variantCount=1)
    failures = model.data["failures"]
    assert len(failures) == 5 * 5
    assert failures[0]["case"] == "кейс 0"
    assert [one["text"] for one in failures[0]["messages"]] == [f"репліка {n}" for n in range(8)]
    assert failures[0]["failedChecks"] == ["немає «Вітаю»"]
    assert [one["path"] for one in made["warnings"]] == ["failedRunIds"]


async def test_what_is_not_the_agents_is_refused_before_the_model_is_asked(
    api: Api, agent: Any, model: FakeMeta, database: Database
) -> None:
    other = await api.integration("other")
    (foreign,) = await api.data("GET", f"/testing/agents?integrationId={other}")
    run = await failed_run(api, database, other, count=1)
    path = f"/testing/agents/{agent['id']}/generate"
    body = {"feedback": "x"}
    for more, status, field in (
        ({"baseVersionId": foreign["currentVersionId"]}, 400, "baseVersionId"),
        ({"failedRunIds": [run]}, 400, "failedRunIds.0"),
        ({"failedRunIds": [str(uuid4())]}, 404, "failedRunIds.0"),
        ({"variantCount": 6}, 400, "variantCount"),
        ({"variantCount": 0}, 400, "variantCount"),
        ({"feedback": ""}, 400, "feedback"),
    ):
        problem = await api.problem("POST", path, body | more, status=status)
        assert problem["errors"][0]["path"] == field
    await api.problem("POST", f"/testing/agents/{uuid4()}/generate", body, status=404)
    async with database.transaction() as unit:
        await accounts.change(unit, api.caller.account_id, {"balance_micro": 0})
    await api.problem("POST", path, body, status=402)
    assert model.asked == []


async def test_no_transaction_is_held_while_the_model_thinks(api: Api, agent: Any, model: FakeMeta) -> None:
    path = f"/testing/agents/{agent['id']}/versions"

    async def meanwhile() -> None:
        await api.data("POST", path, {"prompt": "між тим"}, status=201)

    model.meanwhile, model.answer = meanwhile, variants("після")
    made = await generate(api, agent, variantCount=1)
    assert made["data"][0]["versionNumber"] == 3


async def test_an_agent_deleted_while_the_model_thinks_is_404(
    api: Api, agent: Any, bot: str, model: FakeMeta
) -> None:
    async def meanwhile() -> None:
        await api("DELETE", f"/integrations/{bot}")

    model.meanwhile, model.answer = meanwhile, variants("після")
    await api.problem("POST", f"/testing/agents/{agent['id']}/generate", {"feedback": "x"}, status=404)


def test_data_beyond_the_limit_loses_its_end_and_says_so() -> None:
    talk = Conversation("кейс", [("tester", "ї" * 5_000)] * 20, ["x" * 1_000] * 20)
    data, cut = request_data(prompt="п", feedback="ф", rules=["р" * 3_000] * 40, failures=[talk] * 25)
    assert cut is True
    assert len(data) < DATA_CHARS * 1.2
    read = json.loads(data)
    assert (len(read["rules"]), len(read["rules"][0])) == (40, 1_000)
    assert 0 < len(read["failures"]) < 25
    assert [len(one["text"]) for one in read["failures"][0]["messages"]] == [2_000] * 8
    assert request_data(prompt="п", feedback="ф", rules=["р"], failures=[])[1] is False


def test_the_answer_may_be_as_long_as_the_variants_within_bounds() -> None:
    assert most_tokens("", 1) == 4_000
    assert most_tokens("x" * 10_000, 3) == 18_000
    assert most_tokens("x" * 200_000, 5) == 32_000


@pytest.mark.parametrize(
    ("text", "prompts"),
    [
        ('[{"prompt": "a"}, {"prompt": "b"}]', ["a", "b"]),
        ('{"prompt": "a"}', ["a"]),
        ('Перший: {"prompt": "a"} Другий: {"prompt": "b",}', ["a", "b"]),
        ('{"variants": [{"prompt": "a", "rationale": 5}]}', ["a"]),
    ],
)
def test_variants_are_found_in_the_forms_that_models_give(text: str, prompts: list[str]) -> None:
    found = read_variants(text, base="", count=5, largest_bytes=100)
    assert [one.prompt for one in found] == prompts
