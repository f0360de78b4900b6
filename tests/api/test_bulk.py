"""Many cases at once, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from proctor_store.session import Database
from tests.api.conftest import BOTH, Api, case

pytestmark = BOTH


async def send(api: Api, bot: str, *cases: dict[str, Any], status: int = 200) -> Any:
    body = {"integrationId": bot, "cases": list(cases)}
    if status == 200:
        return await api.data("POST", "/testing/cases/bulk", body)
    return await api.problem("POST", "/testing/cases/bulk", body, status=status)


async def stored(api: Api) -> dict[str, dict[str, Any]]:
    found = (await api("GET", "/testing/cases")).json()["data"]
    return {one["name"]: one for one in found}


async def test_cases_are_matched_by_ref_else_by_name_and_untouched_when_the_same(api: Api) -> None:
    bot = await api.integration()
    first = await send(api, bot, case(name="a", ref="A"), case(name="b"), case(name="c"))
    assert (first["created"], first["updated"], first["unchanged"]) == (3, 0, 0)
    before = await stored(api)
    assert first["ids"] == [before[name]["id"] for name in "abc"]

    second = await send(
        api, bot, case(name="d"), case(name="c", weight=2), case(name="b"), case(name="renamed", ref="A")
    )
    assert (second["created"], second["updated"], second["unchanged"]) == (1, 2, 1)
    after = await stored(api)
    assert second["ids"] == [after[name]["id"] for name in ("d", "c", "b", "renamed")]
    assert second["ids"][1:] == [first["ids"][2], first["ids"][1], first["ids"][0]]
    assert [after[name]["revision"] for name in ("d", "c", "b", "renamed")] == [1, 2, 1, 2]
    assert after["b"] == before["b"]


async def test_a_case_without_ref_keeps_the_one_that_is_stored(api: Api) -> None:
    bot = await api.integration()
    await send(api, bot, case(name="a", ref="A"))
    assert (await send(api, bot, case(name="a")))["unchanged"] == 1
    assert (await send(api, bot, case(name="a", weight=2)))["updated"] == 1
    assert (await stored(api))["a"]["ref"] == "A"
    assert (await api("GET", "/testing/cases?q=a")).json()["meta"]["total"] == 1


async def test_repeats_inside_the_body_are_409_naming_both(api: Api) -> None:
    bot = await api.integration()
    problem = await send(api, bot, case(ref="A"), case(name="b"), case(name="c", ref=" A "), status=409)
    assert [one["path"] for one in problem["errors"]] == ["cases.2.ref"]
    assert "cases 0 and 2" in problem["detail"]
    problem = await send(api, bot, case(name="x"), case(name="x"), status=409)
    assert "cases 0 and 1" in problem["errors"][0]["message"]
    await send(api, bot, case(name="x", ref="X"))
    problem = await send(api, bot, case(name="y", ref="X"), case(name="x"), status=409)
    assert [one["path"] for one in problem["errors"]] == ["cases.1.name"]


async def test_a_name_that_several_stored_cases_have_is_409(api: Api) -> None:
    bot = await api.integration()
    for _ in range(2):
        await api.data("POST", "/testing/cases", case(integrationId=bot, name="twin"), status=201)
    problem = await send(api, bot, case(name="new"), case(name="twin"), status=409)
    assert (problem["code"], problem["errors"][0]["path"]) == ("ambiguous", "cases.1.name")
    assert set(await stored(api)) == {"twin"}


async def test_one_wrong_case_keeps_all_from_being_written(api: Api) -> None:
    bot = await api.integration()
    problem = await send(api, bot, case(name="a"), case(name="b", threshold=101), status=400)
    assert [one["path"] for one in problem["errors"]] == ["cases.1.threshold"]
    big = [{"role": "user", "content": "ї" * 50_000} for _ in range(3)]
    problem = await send(
        api,
        bot,
        case(name="a"),
        case(name="b", input={"kind": "scripted_multi", "messages": big}),
        status=413,
    )
    assert [one["path"] for one in problem["errors"]] == ["cases.1.input"]
    assert await stored(api) == {}


async def test_another_accounts_integration_is_404(api: Api) -> None:
    bot = await (await api.another("umbrella")).integration()
    await send(api, bot, case(), status=404)


async def test_a_refs_of_other_integrations_are_left_alone(api: Api) -> None:
    one, two = await api.integration("one"), await api.integration("two")
    await send(api, one, case(name="a", ref="A"))
    assert (await send(api, two, case(name="b", ref="A")))["created"] == 1
    assert set(await stored(api)) == {"a", "b"}


async def test_two_thousand_cases_take_a_handful_of_statements(api: Api, database: Database) -> None:
    bot = await api.integration()
    cases = [
        case(
            name=f"c{number}", ref=f"R-{number}", assertions=[{"kind": "regex", "pattern": f"a{number % 7}"}]
        )
        for number in range(2_000)
    ]
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        assert (await send(api, bot, *cases))["created"] == 2_000
        changed = [one | {"weight": 2} for one in cases[:1_000]] + cases[1_000:]
        done = await send(api, bot, *changed)
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)
    assert (done["updated"], done["unchanged"]) == (1_000, 1_000)
    assert len(statements) < 20


@pytest.mark.parametrize("count", [0, 2_001])
async def test_the_number_of_cases_is_bounded(api: Api, count: int) -> None:
    bot = await api.integration()
    problem = await send(api, bot, *[case(name=str(number)) for number in range(count)], status=400)
    assert [one["path"] for one in problem["errors"]] == ["cases"]
