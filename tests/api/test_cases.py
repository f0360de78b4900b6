"""Cases over HTTP, on both databases."""

from __future__ import annotations

import unicodedata
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.api.conftest import BOTH, Api, Time, case

pytestmark = BOTH


async def make(api: Api, bot: str, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = await api.data(
        "POST", "/testing/cases", case(integrationId=bot, **more), status=201
    )
    return made


async def names(api: Api, query: str) -> list[str]:
    found = (await api("GET", f"/testing/cases?{query}")).json()
    assert found["meta"]["total"] == len(found["data"])
    return sorted(one["name"] for one in found["data"])


async def test_a_case_is_created_read_and_deleted(api: Api) -> None:
    bot = await api.integration()
    made = await make(api, bot, ref="R-1", critical=True, budget={"maxLatencyMs": 900})
    assert (made["revision"], made["threshold"], made["priority"]) == (1, None, "medium")
    assert made["assertions"] == [
        {
            "kind": "contains", "value": "Вітаю", "caseInsensitive": False, "scope": "any_agent_msg",
            "weight": 1, "required": False,
        }
    ]  # fmt: skip
    path = f"/testing/cases/{made['id']}"
    assert await api.data("GET", path) == made | {"warnings": []}
    assert (await api("DELETE", path)).status_code == 204
    await api.problem("DELETE", path, status=404)
    await api.problem("GET", path, status=404)


async def test_an_integration_of_nobody_or_of_another_account_is_404(api: Api) -> None:
    mine = await api.integration()
    other = await api.another("umbrella")
    for integration in (mine, str(uuid4())):
        await other.problem("POST", "/testing/cases", case(integrationId=integration), status=404)
        await other.problem("GET", f"/testing/cases?integrationId={integration}", status=404)
    made = await make(api, mine)
    for method, body in (("GET", None), ("PATCH", {"weight": 2}), ("DELETE", None)):
        await other.problem(method, f"/testing/cases/{made['id']}", body, status=404)


async def test_a_ref_is_taken_once_an_integration(api: Api) -> None:
    one, two = await api.integration("one"), await api.integration("two")
    await make(api, one, ref="R-1")
    await make(api, two, ref="R-1")
    await make(api, one)
    await make(api, one)
    problem = await api.problem("POST", "/testing/cases", case(integrationId=one, ref=" R-1 "), status=409)
    assert problem["errors"][0]["path"] == "ref"
    second = await make(api, one, ref="R-2")
    problem = await api.problem("PATCH", f"/testing/cases/{second['id']}", {"ref": "R-1"}, status=409)
    assert problem["errors"][0]["path"] == "ref"


async def test_a_patch_changes_what_it_names_and_the_revision_only_then(api: Api, time: Time) -> None:
    bot = await api.integration()
    made = await make(api, bot, ref="R-1", threshold=80, rubric="Контекст")
    path = f"/testing/cases/{made['id']}"
    time.pass_(10)
    same = await api.data("PATCH", path, {"threshold": 80, "name": " Вітання "})
    assert same == made
    changed = await api.data("PATCH", path, {"threshold": None, "rubric": None, "weight": 3})
    assert (changed["threshold"], changed["rubric"], changed["weight"]) == (None, None, 3)
    assert (changed["revision"], changed["ref"], changed["createdAt"]) == (2, "R-1", made["createdAt"])
    assert changed["updatedAt"] > made["updatedAt"]
    assert (await api.data("GET", path))["revision"] == 2


async def test_a_patch_cannot_clear_what_a_case_needs(api: Api) -> None:
    made = await make(api, await api.integration())
    body = {"name": None, "assertions": None, "isActive": None, "ref": None}
    problem = await api.problem("PATCH", f"/testing/cases/{made['id']}", body)
    assert {one["path"] for one in problem["errors"]} == {"name", "assertions", "isActive"}


async def test_null_that_a_bot_must_report_is_kept(api: Api) -> None:
    bot = await api.integration()
    assertion = {"kind": "outcome", "field": "department", "equals": None}
    schema = {"kind": "json_schema", "schema": {"properties": {"a": {"const": None}}}}
    made = await make(api, bot, assertions=[assertion, schema])
    assert made["assertions"][0]["equals"] is None
    assert made["assertions"][1]["schema"] == schema["schema"]
    patched = await api.data("PATCH", f"/testing/cases/{made['id']}", {"weight": 2})
    assert patched["assertions"] == made["assertions"]


async def test_filters_must_all_hold(api: Api) -> None:
    one, two = await api.integration("one"), await api.integration("two")
    await make(api, one, name="a", priority="high", tags=["x", "y"])
    await make(api, one, name="b", isActive=False, tags=["xy"])
    await make(api, two, name="c", category="Тон", tags=['x","z'])
    assert await names(api, "") == ["a", "b", "c"]
    assert await names(api, f"integrationId={one}") == ["a", "b"]
    assert await names(api, "priority=high") == ["a"]
    assert await names(api, "isActive=false") == ["b"]
    assert await names(api, "tag=x") == ["a"]
    assert await names(api, f"tag={quote('x,z')}") == []
    assert await names(api, f"tag={quote(',')}") == []
    assert await names(api, f"tag={quote(chr(34))}") == []
    assert await names(api, f"tag={quote('x' + chr(34) + ',' + chr(34) + 'z')}") == ["c"]
    assert await names(api, f"integrationId={two}&isActive=true&category={quote('Тон')}") == ["c"]


async def test_a_category_is_compared_exactly_after_nfc_and_trim(api: Api) -> None:
    bot = await api.integration()
    await make(api, bot, category=" Київ ")
    decomposed = unicodedata.normalize("NFD", "Київ")
    assert decomposed != "Київ"
    for asked, found in (("Київ", 1), (decomposed, 1), (" Київ ", 1), ("київ", 0), ("Киї", 0)):
        assert len(await names(api, f"category={quote(asked)}")) == found


async def test_search_folds_cyrillic_and_takes_wildcards_literally(api: Api) -> None:
    bot = await api.integration()
    await make(api, bot, name="Звернення", ref="RAMOS-1")
    await make(
        api, bot, name="100% знижка", category="a_b", input={"kind": "scripted_single", "message": "ні"}
    )
    await make(api, bot, name="100 axb", input={"kind": "scripted_single", "message": "Straße 10\u00a0000"})
    for asked, found in (
        ("рамосу", ["Звернення"]),
        ("РАМОСУ", ["Звернення"]),
        ("ramos-1", ["Звернення"]),
        ("100%", ["100% знижка"]),
        ("a_b", ["100% знижка"]),
        ("100", ["100 axb", "100% знижка"]),
        ("STRASSE", ["100 axb"]),
        ("10 000", ["100 axb"]),
        ("\\", []),
        ("  ", ["100 axb", "100% знижка", "Звернення"]),
    ):
        assert await names(api, f"q={quote(asked)}") == found, asked


@pytest.mark.parametrize("name", ["q", "category", "tag"])
async def test_a_filter_that_no_text_can_match_is_400(api: Api, name: str) -> None:
    for value in ("%00", "x" * 201):
        problem = await api.problem("GET", f"/testing/cases?{name}={value}")
        assert problem["errors"][0]["path"] == name


async def test_pages_show_every_case_once_while_one_is_added(api: Api) -> None:
    bot = await api.integration()
    cases = [case(name=f"{number:03}") for number in range(154)]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    seen: list[str] = []
    path: str | None = f"/testing/cases?take=20&integrationId={bot}"
    while path is not None:
        response = await api("GET", path)
        page = response.json()
        seen.extend(one["name"] for one in page["data"])
        assert page["meta"]["total"] == 154 + (len(seen) > 20)
        path = None
        if page["meta"]["nextCursor"] is not None:
            link, _, relation = response.headers["link"].partition(">; ")
            assert relation == 'rel="next"'
            path = link.removeprefix("</api")
        if len(seen) == 20:
            await make(api, bot, name="new")
    assert seen == sorted((f"{number:03}" for number in range(154)), reverse=True)
    skipped = (await api("GET", f"/testing/cases?take=2&skip=1&integrationId={bot}")).json()
    assert [one["name"] for one in skipped["data"]] == ["153", "152"]


async def test_the_default_page_of_cases_is_200(api: Api) -> None:
    assert (await api("GET", "/testing/cases")).json()["meta"]["take"] == 200
    assert (await api("GET", "/integrations")).json()["meta"]["take"] == 50
