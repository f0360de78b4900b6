"""The bite score over HTTP, on both databases."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.api.conftest import BOTH, Api, case

pytestmark = BOTH

PROMPT = (
    "Ти бот підтримки.\nНіколи не обіцяй повернення коштів без номера рахунка клієнта, навіть дуже чемного."
)
REFERENCE = {"messages": [{"content": "Щоб змінити пароль, відкрийте Налаштування."}]}


async def make(api: Api, bot: str, **more: Any) -> str:
    checks = [{"kind": "contains", "value": "пароль"}]
    body = case(**({"integrationId": bot, "assertions": checks, "reference": REFERENCE} | more))
    return str((await api.data("POST", "/testing/cases", body, status=201))["id"])


async def test_a_case_says_what_it_lets_through(api: Api) -> None:
    bot = await api.integration(agentPrompt=PROMPT)
    found = await api.data("POST", f"/testing/cases/{await make(api, bot)}/bite")
    assert (found["outcome"], found["score"], found["killed"]) == ("scored", 29, 2)
    changes = {
        one["kind"]: one["change"] for one in reversed(found["mutants"]) if one["status"] == "survived"
    }
    assert changes["meaning_negated"] == "the agent says: пароль змінити неможливо"
    assert "Ніколи не обіцяй" in changes["prompt_leaked"]
    assert {one["kind"] for one in found["skipped"]} == {
        "tool_call_dropped",
        "tool_argument_changed",
        "promise_reversed",
    }


async def test_a_case_without_a_reference_is_told_how_to_get_a_score(api: Api) -> None:
    bot = await api.integration()
    found = await api.data("POST", f"/testing/cases/{await make(api, bot, reference=None)}/bite")
    assert (found["outcome"], found["score"]) == ("no_reference", None)
    assert "add reference: {messages:" in found["message"]


async def test_a_prompt_that_the_reference_now_leaks_is_told(api: Api) -> None:
    bot = await api.integration()
    leaking = {"messages": [{"content": f"пароль {PROMPT}"}]}
    made = await make(api, bot, reference=leaking)
    await api.data("PATCH", f"/testing/cases/{made}", {"assertions": [{"kind": "no_prompt_leak"}]})
    await api.data("PATCH", f"/integrations/{bot}", {"agentPrompt": PROMPT})
    found = await api.data("POST", f"/testing/cases/{made}/bite")
    assert (found["outcome"], found["mutants"]) == ("reference_fails", [])


async def test_an_integrations_active_cases_are_summed_up(api: Api) -> None:
    bot = await api.integration()
    weak = await make(api, bot, name="weak", category="A", tags=["t"])
    strong = await make(
        api,
        bot,
        name="strong",
        assertions=[{"kind": "regex", "pattern": "^Щоб змінити пароль, відкрийте Налаштування\\.$"}],
    )
    off = await make(api, bot, name="off", isActive=False)
    report = await api.data("POST", "/testing/cases/bite", {"integrationId": bot})
    assert [(one["caseId"], one["score"]) for one in report["cases"]] == [(weak, 33), (strong, 100)]
    assert report["summary"]["cases"] == 2
    assert report["summary"]["withSurvivors"] == 1
    assert all(one["status"] != "killed" for found in report["cases"] for one in found["mutants"])

    async def chosen(**more: Any) -> list[str]:
        found = await api.data("POST", "/testing/cases/bite", {"integrationId": bot, **more})
        return [one["name"] for one in found["cases"]]

    assert await chosen(category="A") == ["weak"]
    assert await chosen(tag="t") == ["weak"]
    assert await chosen(caseIds=[off, off, strong]) == ["off", "strong"]
    full = await api.data("POST", "/testing/cases/bite", {"integrationId": bot, "full": True})
    assert {one["status"] for found in full["cases"] for one in found["mutants"]} == {"killed", "survived"}
    less = await api.data(
        "POST",
        "/testing/cases/bite",
        {"integrationId": bot, "without": ["wrong_language", "meaning_negated"]},
    )
    assert less["summary"]["score"] == 100


async def test_what_is_not_there_is_refused(api: Api) -> None:
    bot = await api.integration()
    await api.problem("POST", f"/testing/cases/{uuid4()}/bite", status=404)
    await api.problem("POST", "/testing/cases/bite", {"integrationId": str(uuid4())}, status=404)
    ours = await make(api, bot)
    asked = {"integrationId": bot, "caseIds": [ours, str(uuid4())]}
    problem = await api.problem("POST", "/testing/cases/bite", asked)
    assert [one["path"] for one in problem["errors"]] == ["caseIds.1"]
    problem = await api.problem("POST", "/testing/cases/bite", {"integrationId": bot, "without": ["typos"]})
    assert problem["errors"][0]["path"].startswith("without.0")
    other = await api.another("other")
    await other.problem("POST", f"/testing/cases/{ours}/bite", status=404)
    await other.problem("POST", "/testing/cases/bite", {"integrationId": bot}, status=404)
    await api.problem("POST", f"/testing/cases/{ours}/bite", status=403, key=await api.public_key())


async def test_too_many_cases_are_refused_before_any_is_scored(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor_api.usecases.bite._MOST_CASES", 1)
    bot = await api.integration()
    for name in ("one", "two"):
        await make(api, bot, name=name)
    problem = await api.problem("POST", "/testing/cases/bite", {"integrationId": bot})
    assert "give category or tag" in problem["errors"][0]["message"]


async def test_an_integration_without_cases_has_no_score(api: Api) -> None:
    report = await api.data("POST", "/testing/cases/bite", {"integrationId": await api.integration()})
    assert (report["summary"]["score"], report["cases"]) == (None, [])
