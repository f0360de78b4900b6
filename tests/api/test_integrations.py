"""Integrations and handlers over HTTP."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from proctor_contracts.schemas.integrations import HandlerCreate, IntegrationCreate
from tests.api.conftest import Api

HTTP: dict[str, Any] = {
    "name": "Бот",
    "agentPrompt": "Ти — асистент.",
    "endpoint": {
        "url": "http://bot.example/chat",
        "headers": {"X-Key": {"secret": "BOT_KEY"}},
        "body": {"message": "{{message}}"},
        "replyPath": "$.answer",
    },
}


async def test_an_integration_is_created_read_changed_and_deleted(api: Api) -> None:
    made = await api.data("POST", "/integrations", HTTP, status=201)
    assert made["provider"] == "http"
    assert made["endpoint"]["headers"] == {"X-Key": {"secret": "BOT_KEY"}}
    path = f"/integrations/{made['id']}"
    assert await api.data("GET", path) == made

    changed = await api.data("PATCH", path, {"locale": "uk-UA", "model": "m"})
    assert (changed["locale"], changed["model"], changed["name"]) == ("uk-UA", "m", "Бот")
    assert (await api.data("PATCH", path, {"locale": None}))["locale"] is None

    assert (await api("DELETE", path)).status_code == 204
    assert (await api.problem("DELETE", path, status=404))["code"] == "not_found"


async def test_another_accounts_rows_look_like_none(api: Api) -> None:
    mine = await api.integration()
    other = await api.another("umbrella")
    unknown = await other.problem("GET", f"/integrations/{uuid4()}", status=404)
    for method, body in (("GET", None), ("PATCH", {"model": "x"}), ("DELETE", None)):
        found = await other.problem(method, f"/integrations/{mine}", body, status=404)
        assert found["detail"] == unknown["detail"]
    assert (await other("GET", "/integrations")).json()["meta"]["total"] == 0


async def test_a_name_is_taken_once_an_account(api: Api) -> None:
    await api.integration("one")
    problem = await api.problem("POST", "/integrations", {"name": " one ", "provider": "openai"}, status=409)
    assert problem["errors"][0]["path"] == "name"
    second = await api.integration("two")
    problem = await api.problem("PATCH", f"/integrations/{second}", {"name": "one"}, status=409)
    assert problem["errors"][0]["path"] == "name"
    await (await api.another("umbrella")).integration("one")


async def test_an_endpoint_must_fit_its_provider(api: Api) -> None:
    problem = await api.problem("POST", "/integrations", {"name": "x"})
    assert problem["errors"][0]["path"] == "endpoint"
    problem = await api.problem(
        "POST", "/integrations", {"name": "x", "endpoint": {"url": "http://b/", "body": {}}}
    )
    assert problem["errors"][0]["path"] == "endpoint.replyPath"
    problem = await api.problem(
        "POST", "/integrations", {"name": "x", "endpoint": {**HTTP["endpoint"], "replyPath": "answer"}}
    )
    assert problem["errors"] == [
        {
            "path": "endpoint.replyPath",
            "message": "a path starts with $, as in $.answer or $.choices[0].text; got 'answer'",
            "code": None,
        }
    ]
    made = await api.data("POST", "/integrations", HTTP, status=201)
    problem = await api.problem("PATCH", f"/integrations/{made['id']}", {"endpoint": None})
    assert problem["errors"][0]["path"] == "endpoint"


@pytest.mark.parametrize(
    "url",
    [
        "http://user:pass@bot.example/",
        "http://bot.example\\@other.example/",
        "http://bot.exa\tmple/",
        "http://bot example/",
        "http://bot.example:0/",
        "http://bot.example:99999/",
        "http://bot.example:abc/",
        "http://[fe80::1%25eth0]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http:///chat",
        "http://bot..example/",
    ],
)
async def test_a_url_that_two_readers_may_read_differently_is_refused_where_it_stands(
    api: Api, url: str
) -> None:
    endpoint = {**HTTP["endpoint"], "url": url}
    problem = await api.problem("POST", "/integrations", HTTP | {"endpoint": endpoint})
    assert [one["path"] for one in problem["errors"]] == ["endpoint.url"]
    made = await api.integration()
    problem = await api.problem("PATCH", f"/integrations/{made}", {"endpoint": endpoint})
    assert [one["path"] for one in problem["errors"]] == ["endpoint.url"]


@pytest.mark.parametrize(
    "url", ["http://приклад.укр/chat", "https://[2001:db8::1]:8443/", "http://bot:9000/a?k=v"]
)
async def test_names_addresses_and_ports_are_urls(api: Api, url: str) -> None:
    made = await api.data(
        "POST", "/integrations", HTTP | {"endpoint": {**HTTP["endpoint"], "url": url}}, status=201
    )
    assert made["endpoint"]["url"] == url


async def test_null_is_refused_where_a_field_needs_a_value(api: Api) -> None:
    bot = await api.integration()
    problem = await api.problem("PATCH", f"/integrations/{bot}", {"name": None, "provider": None})
    assert {one["path"] for one in problem["errors"]} == {"name", "provider"}


async def test_a_prompt_beyond_its_limit_is_413_naming_it_in_characters_or_bytes(api: Api) -> None:
    for prompt in ("a" * 262_145, "ї" * 140_000):
        body = {"name": "x", "provider": "openai", "agentPrompt": prompt}
        problem = await api.problem("POST", "/integrations", body, status=413)
        assert problem["errors"][0]["path"] == "agentPrompt"


async def test_the_list_finds_an_integration_by_its_name(api: Api) -> None:
    await api.integration("one")
    two = await api.integration("two")
    found = (await api("GET", "/integrations?name=two")).json()
    assert [one["id"] for one in found["data"]] == [two]
    assert found["meta"] == {"total": 1, "take": 50, "skip": 0, "nextCursor": None}


async def test_upsert_makes_an_integration_exactly_so_and_touches_nothing_when_it_is(api: Api) -> None:
    body = IntegrationCreate.model_validate(HTTP)
    made = await api.services.integrations.upsert(api.caller, body)
    same = await api.services.integrations.upsert(api.caller, body)
    assert same == made
    cleared = await api.services.integrations.upsert(api.caller, body.model_copy(update={"agent_prompt": ""}))
    assert (cleared.id, cleared.agent_prompt) == (made.id, "")


async def test_handlers_live_and_die_with_their_integration(api: Api) -> None:
    bot = await api.integration()
    path = f"/integrations/{bot}/handlers"
    body = {
        "name": "orders.find",
        "headers": {"A": {"secret": "KEY"}},
        "parametersSchema": {"type": "object"},
    }
    made = await api.data("POST", path, body, status=201)
    assert (made["method"], made["url"], made["isSideEffect"]) == ("POST", "", None)
    assert (await api("GET", path)).json()["data"] == [made]
    changed = await api.data("PATCH", f"{path}/{made['id']}", {"url": "https://x.example", "headers": {}})
    assert (changed["url"], changed["headers"], changed["name"]) == ("https://x.example", {}, "orders.find")
    assert (await api.problem("POST", path, body, status=409))["errors"][0]["path"] == "name"
    assert (await api("DELETE", f"{path}/{made['id']}")).status_code == 204
    await api.problem("DELETE", f"{path}/{made['id']}", status=404)
    await api("DELETE", f"/integrations/{bot}")
    await api.problem("GET", path, status=404)


async def test_what_a_handler_does_is_kept_changed_and_cleared(api: Api) -> None:
    path = f"/integrations/{await api.integration()}/handlers"
    effect = {"entity": "refund", "action": "create", "key": "invoice"}
    made = await api.data("POST", path, {"name": "повернути", "effect": effect}, status=201)
    assert made["effect"] == effect
    one = f"{path}/{made['id']}"
    less = {"entity": "refund", "action": "update"}
    changed = await api.data("PATCH", one, {"effect": less})
    assert changed["effect"] == less | {"key": None}
    same = await api.data("PATCH", one, {"effect": less})
    assert same["updatedAt"] == changed["updatedAt"]
    assert (await api.data("PATCH", one, {"isSideEffect": True}))["effect"] == changed["effect"]
    assert (await api.data("PATCH", one, {"effect": None}))["effect"] is None
    assert (await api("GET", path)).json()["data"][0]["effect"] is None
    problem = await api.problem("PATCH", one, {"effect": less | {"action": "merge"}})
    assert problem["errors"][0]["path"] == "effect.action"


async def test_a_handler_of_another_integration_is_not_found_here(api: Api) -> None:
    one, two = await api.integration("one"), await api.integration("two")
    made = await api.data("POST", f"/integrations/{one}/handlers", {"name": "t"}, status=201)
    await api.problem("PATCH", f"/integrations/{two}/handlers/{made['id']}", {"url": "x"}, status=404)
    await api.problem("DELETE", f"/integrations/{two}/handlers/{made['id']}", status=404)


async def test_handlers_are_bounded_together(api: Api) -> None:
    path = f"/integrations/{await api.integration()}/handlers"
    big = {"body": {"example": "x" * 200_000}}
    await api.data("POST", path, {"name": "one", **big}, status=201)
    problem = await api.problem("POST", path, {"name": "two", **big}, status=413)
    assert problem["errors"][0]["path"] == "body"
    assert (await api("GET", path)).json()["meta"]["total"] == 1


async def test_a_parameters_schema_that_is_none_is_refused_where_it_is_wrong(api: Api) -> None:
    path = f"/integrations/{await api.integration()}/handlers"
    schema = {"type": "object", "properties": {"id": {"type": "number!"}}}
    problem = await api.problem("POST", path, {"name": "t", "parametersSchema": schema})
    assert problem["errors"][0]["path"] == "parametersSchema.properties.id.type"


async def test_arguments_are_an_object(api: Api) -> None:
    path = f"/integrations/{await api.integration()}/handlers"
    for schema in ({"type": "array"}, {"type": ["object", "null"]}):
        problem = await api.problem("POST", path, {"name": "t", "parametersSchema": schema})
        assert problem["errors"][0]["path"] == "parametersSchema.type"
    await api.data("POST", path, {"name": "t", "parametersSchema": {"properties": {}}}, status=201)


BAD_URLS = [
    "http://hooks.example@127.0.0.1/", "http://127.0.0.1:80@hooks.example/", "http://hooks.example\\@127.0.0.1/",
    "http://exa\tmple.com/", "ftp://hooks.example/", "file:///etc/hostname", "//hooks.example/", "http:///x",
    "https://hooks.example:0/", "https://hooks.example:99999/", "http://[::1/", "localhost:3010/find", "a b",
]  # fmt: skip


@pytest.mark.parametrize("url", BAD_URLS)
async def test_an_address_that_could_not_be_called_or_reads_two_ways_is_refused(api: Api, url: str) -> None:
    path = f"/integrations/{await api.integration()}/handlers"
    problem = await api.problem("POST", path, {"name": "t", "url": url})
    assert problem["errors"][0]["path"] == "url"
    made = await api.data("POST", path, {"name": "t"}, status=201)
    await api.problem("PATCH", f"{path}/{made['id']}", {"url": url})


GOOD_URLS = [
    "", "orders/find", "/orders/find?x=1", "orders/a:b", "https://приклад.укр/a", "http://[::1]:3010/", "HTTPS://h",
]  # fmt: skip


@pytest.mark.parametrize("url", GOOD_URLS)
async def test_addresses_are_absolute_relative_or_empty(api: Api, url: str) -> None:
    path = f"/integrations/{await api.integration()}/handlers"
    assert (await api.data("POST", path, {"name": "t", "url": f" {url} "}, status=201))["url"] == url


async def test_replacing_handlers_keeps_those_that_are_the_same(api: Api) -> None:
    bot = UUID(await api.integration())
    replace = api.services.handlers.replace
    first = await replace(api.caller, bot, [HandlerCreate(name="a"), HandlerCreate(name="b")])
    second = await replace(
        api.caller, bot, [HandlerCreate(name="c"), HandlerCreate(name="a"), HandlerCreate(name="b", url="/b")]
    )
    assert [one.name for one in second] == ["c", "a", "b"]
    assert second[1] == first[0]
    assert (second[2].id, second[2].url) == (first[1].id, "/b")
    third = await replace(api.caller, bot, [HandlerCreate(name="c")])
    assert third == (second[0],)
    assert (await api.services.handlers.list(api.caller, bot)).data == third
