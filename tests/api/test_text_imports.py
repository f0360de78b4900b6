"""Golden datasets and other text files over REST: what is written, what is said, and what is refused."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.api.conftest import BOTH, Api, case
from tests.casefiles.golden import THREE

pytestmark = BOTH

TALK = {
    "id": "talk",
    "messages": [
        {"role": "user", "content": "Де моє замовлення?"},
        {"role": "assistant", "content": "Воно в дорозі"},
    ],
}
PROMPTFOO = """
prompts: ['{{q}}']
tests:
  - vars: {q: Hello}
    assert: [{type: icontains, value: hi}, {type: javascript, value: 'true'}]
  - vars: {q: Bye}
    assert: [{type: python, value: 'True'}]
"""


async def golden(api: Api, integration: str, cases: Any, **more: Any) -> dict[str, Any]:
    body = {"integrationId": integration, "cases": cases, **more}
    found: dict[str, Any] = await api.data("POST", "/testing/cases/import-golden", body, status=201)
    return found


async def sent(
    api: Api, integration: str, format_: str, text: str | bytes, status: int = 201, **more: str
) -> Any:
    response = await api(
        "POST",
        "/testing/cases/import",
        data={"integrationId": integration, "format": format_, **more},
        files={"file": ("cases", text.encode() if isinstance(text, str) else text)},
    )
    assert response.status_code == status, response.text
    return response.json()["data"] if status == 201 else response.json()


def counts(outcome: dict[str, Any]) -> tuple[int, int, int, int]:
    assert outcome["created"] + outcome["updated"] + outcome["skipped"] == outcome["total"]
    return outcome["created"], outcome["updated"], outcome["skipped"], outcome["unchanged"]


async def stored(api: Api, integration: str) -> dict[str, Any]:
    return {one["ref"]: one for one in await api.data("GET", f"/testing/cases?integrationId={integration}")}


async def test_a_golden_dataset_is_imported_and_twice_changes_nothing(api: Api) -> None:
    integration = await api.integration()
    assert counts(await golden(api, integration, THREE)) == (3, 0, 0, 0)
    before = await stored(api, integration)
    assert set(before) == {"billing-double-charge", "angry-but-simple", "out-of-scope-legal"}
    assert counts(await golden(api, integration, THREE)) == (0, 0, 3, 3)
    assert await stored(api, integration) == before


async def test_the_dataset_can_be_sent_as_it_is(api: Api) -> None:
    integration = await api.integration()
    path = f"/testing/cases/import-golden?integrationId={integration}"
    dry = await api.data("POST", f"{path}&dryRun=true", THREE, status=201)
    assert (counts(dry), dry["dryRun"]) == ((3, 0, 0, 0), True)
    assert await stored(api, integration) == {}
    assert counts(await api.data("POST", path, THREE, status=201)) == (3, 0, 0, 0)


async def test_what_the_dataset_does_not_speak_of_stays_as_somebody_set_it(api: Api) -> None:
    integration = await api.integration()
    await golden(api, integration, THREE)
    one = (await stored(api, integration))["angry-but-simple"]
    await api.data("PATCH", f"/testing/cases/{one['id']}", {"threshold": 55, "tags": ["mine"]})
    changed = [{**THREE[1], "input": "Де пароль?"}]
    assert counts(await golden(api, integration, changed)) == (0, 1, 0, 0)
    now = (await stored(api, integration))["angry-but-simple"]
    assert (now["threshold"], now["tags"], now["input"]["message"]) == (55, ["mine"], "Де пароль?")


async def test_entries_with_problems_are_named_and_the_others_written(api: Api) -> None:
    integration = await api.integration()
    value = [
        THREE[0],
        {"id": "x", "input": "y", "expected": {"tool": []}},
        THREE[0],
        {**THREE[1], "id": "я" * 65},
    ]
    outcome = await golden(api, integration, value)
    assert counts(outcome) == (1, 0, 3, 0)
    assert [one["path"] for one in outcome["problems"]] == ["1.expected.tool", "1.expected", "2.id", "3.id"]


async def test_a_reference_that_fails_its_own_checks_is_refused_with_the_check_named(api: Api) -> None:
    integration = await api.integration()
    good = {
        "messages": [{"content": "Пароль змінюють у профілі", "toolCalls": [{"name": "get_help_article"}]}],
        "outcomes": {"department": "account"},
    }
    assert counts(await golden(api, integration, [{**THREE[1], "reference": good}])) == (1, 0, 0, 0)
    bad = {**good, "messages": [{"content": "Не знаю", "toolCalls": [{"name": "get_help_article"}]}]}
    outcome = await golden(api, integration, [{**THREE[1], "reference": bad}])
    assert counts(outcome) == (0, 0, 1, 0)
    (problem,) = outcome["problems"]
    assert problem["path"] == "0.expected.3"
    assert "does not pass this check (contains_all)" in problem["message"]


async def test_a_stored_reference_must_pass_what_an_import_asks_anew(api: Api) -> None:
    integration = await api.integration()
    reference = {"messages": [{"content": "Вітаю"}], "outcomes": {"department": "account"}}
    await api.data(
        "POST",
        "/testing/cases",
        {"integrationId": integration, "ref": THREE[1]["id"], "reference": reference, **case()},
        status=201,
    )
    outcome = await golden(api, integration, [THREE[1]])
    assert counts(outcome) == (0, 0, 1, 0)
    assert {one["path"] for one in outcome["problems"]} == {"0.expected.1", "0.expected.3"}


async def test_thousands_of_entries_come_in_at_once(api: Api) -> None:
    integration = await api.integration()
    entry = {"input": "Де?", "expected": {"tools": ["find"]}}
    outcome = await golden(api, integration, [{"id": f"g-{number}", **entry} for number in range(2_500)])
    assert counts(outcome) == (2_500, 0, 0, 0)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"cases": THREE}, "integrationId"),
        (THREE, "integrationId"),
        ({"integrationId": "x", "cases": THREE}, "integrationId"),
        ({"integrationId": str(uuid4()), "cases": []}, "cases"),
        ({"integrationId": str(uuid4()), "golden": THREE}, "golden"),
        ({"integrationId": str(uuid4()), "cases": THREE, "dryRun": "maybe"}, "dryRun"),
    ],
)
async def test_a_body_that_is_no_import_is_refused_by_field(api: Api, body: Any, path: str) -> None:
    problem = await api.problem("POST", "/testing/cases/import-golden", body)
    assert path in [one["path"] for one in problem["errors"]]


async def test_an_integration_of_others_is_not_there_and_public_keys_may_not_import(api: Api) -> None:
    integration = await (await api.another("other")).integration()
    body = {"integrationId": integration, "cases": THREE}
    await api.problem("POST", "/testing/cases/import-golden", body, status=404)
    public = await api.public_key()
    await api.problem("POST", "/testing/cases/import-golden", body, status=403, key=public)


async def test_promptfoo_tests_come_in_and_what_has_no_counterpart_is_reported(api: Api) -> None:
    integration = await api.integration()
    outcome = await sent(api, integration, "promptfoo", PROMPTFOO)
    assert counts(outcome) == (1, 0, 1, 0)
    assert [one["path"] for one in outcome["warnings"]] == ["tests.0.assert.1"]
    assert [one["path"] for one in outcome["problems"]] == ["tests.1.assert", "tests.1.assert.0"]
    (one,) = (await stored(api, integration)).values()
    assert one["assertions"] == [
        {"kind": "contains", "value": "hi", "caseInsensitive": True, "weight": 1, "required": False,
         "scope": "any_agent_msg"}
    ]  # fmt: skip
    assert "needs_review" in one["tags"]
    assert counts(await sent(api, integration, "promptfoo", PROMPTFOO)) == (0, 0, 2, 1)


async def test_a_conversation_imported_again_keeps_the_checks_that_somebody_wrote(api: Api) -> None:
    integration = await api.integration()
    line = json.dumps(TALK)
    assert counts(await sent(api, integration, "jsonl", line)) == (1, 0, 0, 0)
    assert counts(await sent(api, integration, "jsonl", line)) == (0, 0, 1, 1)
    one = (await stored(api, integration))["talk"]
    mine = [{"kind": "contains", "value": "дорозі"}]
    await api.data("PATCH", f"/testing/cases/{one['id']}", {"assertions": mine})
    outcome = await sent(api, integration, "jsonl", line)
    assert (await stored(api, integration))["talk"]["assertions"][0]["value"] == "дорозі"
    assert [warning["path"] for warning in outcome["warnings"]] == ["line 1.assertions"]


async def test_made_up_checks_follow_a_conversation_that_was_recorded_anew(api: Api) -> None:
    integration = await api.integration()
    await sent(api, integration, "jsonl", json.dumps(TALK))
    other = {**TALK, "messages": [TALK["messages"][0], {"role": "assistant", "content": "Його скасовано"}]}
    assert counts(await sent(api, integration, "jsonl", json.dumps(other))) == (0, 1, 0, 0)
    assert "скасовано" in (await stored(api, integration))["talk"]["assertions"][0]["rubric"]


async def test_whole_cases_come_in_as_they_are(api: Api) -> None:
    integration = await api.integration()
    whole = [case(ref="A", threshold=40), case(ref="B", weight="x")]
    outcome = await sent(api, integration, "cases", json.dumps(whole))
    assert counts(outcome) == (1, 0, 1, 0)
    assert outcome["problems"][0]["path"] == "1.weight"
    await sent(api, integration, "cases", json.dumps([case(ref="A")]))
    assert (await stored(api, integration))["A"]["threshold"] is None


@pytest.mark.parametrize("dry_run", ["true", "false"])
async def test_a_dry_run_says_what_the_real_one_does(api: Api, dry_run: str) -> None:
    integration = await api.integration()
    outcome = await sent(api, integration, "golden", json.dumps(THREE), dryRun=dry_run)
    assert counts(outcome) == (3, 0, 0, 0)
    assert len(await stored(api, integration)) == (0 if dry_run == "true" else 3)


@pytest.mark.parametrize(
    ("format_", "text", "told"),
    [
        ("golden", "{}", "a golden dataset is a list"),
        ("golden", b"\xff\xfe", "UTF-8"),
        ("golden", b"PK\x03\x04", "the format is xlsx"),
        ("promptfoo", "providers: []", "has tests"),
        ("promptfoo", "tests: [1", "is not YAML"),
        ("cases", "7", "holds no cases"),
        ("xlsx", "a,b", "CSV"),
    ],
)
async def test_a_file_that_is_not_what_its_format_says_is_refused(
    api: Api, format_: str, text: str | bytes, told: str
) -> None:
    integration = await api.integration()
    problem = await sent(api, integration, format_, text, status=400)
    assert told in problem["detail"]
    assert await stored(api, integration) == {}


async def test_formats_and_their_options_are_checked(api: Api) -> None:
    integration = await api.integration()
    problem = await sent(api, integration, "csv", "a", status=400)
    assert "promptfoo" in problem["errors"][0]["message"]
    problem = await sent(api, integration, "golden", "[]", status=400, sheet="Кейси")
    assert problem["errors"][0]["path"] == "sheet"


async def test_a_file_beyond_the_limit_is_refused(api: Api) -> None:
    integration = await api.integration()
    await sent(api, integration, "jsonl", "x" * (5 * 1024 * 1024 + 1), status=413)
