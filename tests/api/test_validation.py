"""What is checked when a case is saved, and that validating writes nothing."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.api.conftest import Api, case


def with_(*assertions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return case(assertions=list(assertions), **more)


REFERENCE = {
    "messages": [{"content": "Вітаю!", "toolCalls": [{"name": "orders.find", "args": {"id": 7}}]}],
    "outcomes": {"department": "orders"},
}

BAD: list[tuple[dict[str, Any], str, str]] = [
    (with_({"kind": "regex", "pattern": "[а-яіїєґ]+("}), "assertions.0.pattern", "position"),
    (with_({"kind": "regex", "pattern": "/RAMOSU/i"}), "assertions.0.pattern", "slashes"),
    (with_({"kind": "regex", "pattern": "а(?i)б"}), "assertions.0.pattern", "position"),
    (with_({"kind": "regex", "pattern": "а", "flags": "x"}), "assertions.0.flags", "unknown flag"),
    (with_({"kind": "regex", "pattern": "а", "flags": "ii"}), "assertions.0.flags", "twice"),
    (
        with_({"kind": "tool_call", "toolName": "t", "argsRegex": {"id": "("}}),
        "assertions.0.argsRegex.id",
        "position",
    ),
    (with_({"kind": "json_schema", "schema": {"type": "objekt"}}), "assertions.0.schema", ""),
    (
        with_({"kind": "contains", "value": "Прощавайте"}, reference=REFERENCE),
        "assertions.0",
        "reference solution does not pass",
    ),
    (
        with_({"kind": "tool_call", "toolName": "other"}, reference=REFERENCE),
        "assertions.0",
        "reference solution does not pass",
    ),
]


@pytest.mark.parametrize(("body", "path", "part"), BAD)
async def test_what_could_never_pass_or_be_evaluated_is_refused_everywhere(
    api: Api, body: dict[str, Any], path: str, part: str
) -> None:
    bot = await api.integration()
    said = await api.data("POST", "/testing/cases/validate", body)
    assert not said["valid"]
    for number, (where, request) in enumerate(
        [("/testing/cases", body), ("/testing/cases/bulk", {"cases": [case(name="good"), body]})]
    ):
        problem = await api.problem("POST", where, {**request, "integrationId": bot})
        for errors, start in ((said["errors"], ""), (problem["errors"], "cases.1." if number else "")):
            assert errors[0]["path"].startswith(start + path)
            assert part in errors[0]["message"]
    made = await api.data("POST", "/testing/cases", case(integrationId=bot), status=201)
    patch = {name: body[name] for name in ("assertions", "reference") if name in body}
    problem = await api.problem("PATCH", f"/testing/cases/{made['id']}", patch)
    assert problem["errors"][0]["path"].startswith(path)
    assert (await api("GET", "/testing/cases")).json()["meta"]["total"] == 1


async def test_javascript_patterns_are_accepted(api: Api) -> None:
    patterns = [
        {"kind": "regex", "pattern": r"(?<рік>\d{4})"},
        {"kind": "regex", "pattern": r"\p{L}+", "flags": "giu"},
    ]
    said = await api.data("POST", "/testing/cases/validate", with_(*patterns))
    assert said["valid"]


async def test_a_good_reference_proves_its_case(api: Api) -> None:
    body = with_(
        {"kind": "contains", "value": "Вітаю"},
        {"kind": "tool_call", "toolName": "orders.find", "argsRegex": "7"},
        {"kind": "outcome", "field": "department", "in": ["orders", "other"]},
        {"kind": "judge", "rubric": "Ввічливо"},
        {"kind": "latency", "maxMs": 5},
        reference=REFERENCE,
    )
    assert (await api.data("POST", "/testing/cases/validate", body))["errors"] == []


async def test_a_tool_check_without_capture_is_a_warning_where_the_bot_is_known(api: Api) -> None:
    body = with_({"kind": "tool_call", "toolName": "t"})
    http: dict[str, Any] = {"url": "http://bot.example/", "body": {}, "replyPath": "$.a"}
    silent = await api.integration("silent", provider="http", endpoint=http)
    telling = await api.integration("telling", provider="http", endpoint=http | {"toolCallsPath": "$.tools"})
    plain = await api.integration("plain")
    for bot, codes in (
        (silent, ["no_tool_capture"]),
        (plain, ["no_tool_capture"]),
        (telling, []),
        (None, []),
    ):
        document = body if bot is None else {**body, "integrationId": bot}
        said = await api.data("POST", "/testing/cases/validate", document)
        assert said["valid"]
        assert [one["code"] for one in said["warnings"]] == codes
    made = await api.data("POST", "/testing/cases", {**body, "integrationId": silent}, status=201)
    assert [one["path"] for one in made["warnings"]] == ["assertions.0"]
    done = await api.data(
        "POST", "/testing/cases/bulk", {"integrationId": silent, "cases": [case(name="b"), body]}
    )
    assert [one["path"] for one in done["warnings"]] == ["cases.1.assertions.0"]


async def test_where_the_tools_are_known_a_check_of_another_one_is_a_warning(api: Api) -> None:
    bot = await api.integration("tools")
    await api.data("POST", f"/integrations/{bot}/handlers", {"name": "order.find"}, status=201)
    asked: list[dict[str, Any]] = [
        {"kind": "tool_call", "toolName": "order.find"},
        {"kind": "tool_args", "toolName": "order.fnid", "args": {"id": 1}},
        {"kind": "state", "expect": [{"entity": "order", "count": 1}]},
    ]
    said = await api.data("POST", "/testing/cases/validate", {**with_(*asked), "integrationId": bot})
    found = [(one["path"], one["code"]) for one in said["warnings"]]
    assert found == [("assertions.1.toolName", "unknown_tool")]
    plain = await api.integration("plain")
    said = await api.data("POST", "/testing/cases/validate", {**with_(*asked), "integrationId": plain})
    codes = [one["code"] for one in said["warnings"]]
    assert codes == ["no_tool_capture", "no_tool_capture", "no_effect_ledger"]


async def test_a_wrong_shape_is_an_answer_of_validate_not_a_refusal(api: Api) -> None:
    body = {**case(threshold=101, ref="ї" * 65), "integrationId": "x", "unknown": 1}
    del body["name"]
    said = await api.data("POST", "/testing/cases/validate", body)
    assert not said["valid"]
    assert {one["path"] for one in said["errors"]} == {"threshold", "ref", "integrationId", "name", "unknown"}


async def test_validate_knows_only_the_accounts_integrations(api: Api) -> None:
    bot = await (await api.another("umbrella")).integration()
    for unknown in (bot, str(uuid4())):
        await api.problem("POST", "/testing/cases/validate", {**case(), "integrationId": unknown}, status=404)


async def test_a_case_beyond_its_size_is_413_naming_the_largest_field(api: Api) -> None:
    messages = [{"role": "user", "content": "ї" * 50_000} for _ in range(3)]
    body = case(input={"kind": "scripted_multi", "messages": messages}, integrationId=await api.integration())
    problem = await api.problem("POST", "/testing/cases", body, status=413)
    assert problem["errors"][0]["path"] == "input"
    del body["integrationId"]
    said = await api.data("POST", "/testing/cases/validate", body)
    assert (said["valid"], said["errors"][0]["code"]) == (False, "too_large")
