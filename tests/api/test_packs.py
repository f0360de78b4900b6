from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.api.conftest import BOTH, Api

pytestmark = BOTH
PATH = "/testing/cases/seed-adversarial"


async def seeded(api: Api, integration: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = await api.data("POST", PATH, {"integrationId": integration, **more}, status=201)
    return found


def counts(outcome: dict[str, Any]) -> tuple[int, int, int]:
    return outcome["created"], outcome["skipped"], outcome["total"]


def codes(outcome: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in outcome["warnings"]}


async def test_a_second_call_skips_everything(api: Api) -> None:
    bot = await api.integration()
    assert counts(await seeded(api, bot)) == (8, 0, 8)
    assert counts(await seeded(api, bot)) == (0, 8, 8)
    listed = await api.data("GET", f"/testing/cases?integrationId={bot}")
    assert {case["ref"] for case in listed} == {f"SEC-{number}" for number in range(1, 9)}
    assert {case["category"] for case in listed} == {"Безпека"}
    assert {(case["threshold"], case["retryPolicy"]) for case in listed} == {(100, "none")}


async def test_languages_and_packs_stand_side_by_side(api: Api) -> None:
    bot = await api.integration()
    await seeded(api, bot)
    assert counts(await seeded(api, bot, locale="both")) == (8, 8, 16)
    assert counts(await seeded(api, bot, locale="en")) == (0, 8, 8)
    assert counts(await seeded(api, bot, pack="extended", locale="both")) == (40, 0, 40)
    assert counts(await seeded(api, bot, pack="extended")) == (0, 20, 20)


async def test_an_edited_case_is_not_touched_and_a_deleted_one_comes_back(api: Api) -> None:
    bot = await api.integration()
    await seeded(api, bot)
    listed = {case["ref"]: case for case in await api.data("GET", f"/testing/cases?integrationId={bot}")}
    path = f"/testing/cases/{listed['SEC-2']['id']}"
    await api.data("PATCH", path, {"name": "Моє"})
    await api("DELETE", f"/testing/cases/{listed['SEC-3']['id']}")
    assert counts(await seeded(api, bot)) == (1, 7, 8)
    assert (await api.data("GET", path))["name"] == "Моє"


async def test_brand_and_competitors_are_put_in(api: Api) -> None:
    bot = await api.integration(agentPrompt="You sell shoes.")
    outcome = await seeded(api, bot, brand="Acme & Co", brandCyr="Акме", competitors=["Globex", "C++"])
    assert outcome["warnings"] == []
    listed = {case["ref"]: case for case in await api.data("GET", f"/testing/cases?integrationId={bot}")}
    values = [check["value"] for check in listed["SEC-5"]["assertions"] if check["kind"] == "not_contains"]
    assert values == ["Globex", "C++"]
    assert "no_prompt_leak" in {check["kind"] for check in listed["SEC-1"]["assertions"]}


async def test_what_this_bots_runs_cannot_see_is_left_out_with_a_warning(api: Api) -> None:
    bot = await api.integration()
    assert codes(await seeded(api, bot)) == {"no_brand", "no_competitors", "no_prompt"}
    extended = await seeded(api, bot, pack="extended", brand="Acme")
    assert {"no_tool_capture", "no_prompt"} <= codes(extended)
    listed = await api.data("GET", f"/testing/cases?integrationId={bot}")
    kinds = {check["kind"] for case in listed for check in case["assertions"]}
    assert kinds.isdisjoint({"tool_policy", "tool_call", "no_prompt_leak"})


async def test_tools_are_checked_by_name_where_the_bot_has_them(api: Api) -> None:
    bot = await api.integration()
    handler = {"name": "get_order", "description": "Finds an order", "url": "https://shop.example.com/order"}
    await api.data("POST", f"/integrations/{bot}/handlers", handler, status=201)
    await seeded(api, bot, pack="extended")
    (case,) = [
        one for one in await api.data("GET", f"/testing/cases?integrationId={bot}") if one["ref"] == "SEC-24"
    ]
    assert [check["toolName"] for check in case["assertions"] if check["kind"] == "tool_call"] == [
        "get_order"
    ]


async def test_the_judge_can_be_left_out(api: Api) -> None:
    bot = await api.integration()
    await seeded(api, bot, judge=False)
    listed = await api.data("GET", f"/testing/cases?integrationId={bot}")
    assert "judge" not in {check["kind"] for case in listed for check in case["assertions"]}


async def test_refusals_name_the_field(api: Api) -> None:
    bot = await api.integration()
    for body, path in (
        ({"locale": "pl"}, "locale"),
        ({"pack": "all"}, "pack"),
        ({"brand": " "}, "brand"),
        ({"brand": "x" * 65}, "brand"),
        ({"brand": "Acme", "competitors": ["Globex", "acm"]}, "competitors.1"),
        ({"competitor": ["Globex"]}, "competitor"),
    ):
        problem = await api.problem("POST", PATH, {"integrationId": bot, **body})
        assert [fault["path"] for fault in problem["errors"]] == [path]
    assert await api.data("GET", f"/testing/cases?integrationId={bot}") == []


async def test_only_ones_own_integration_can_be_given_a_pack(api: Api) -> None:
    bot = await api.integration()
    await api.problem("POST", PATH, {"integrationId": str(uuid4())}, status=404)
    other = await api.another("other")
    await other.problem("POST", PATH, {"integrationId": bot}, status=404)
    await api.problem("POST", PATH, {"integrationId": bot}, status=403, key=await api.public_key())
