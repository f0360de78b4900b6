"""What every request meets before and after the routes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from starlette.requests import ClientDisconnect

from proctor_api.middleware import BODY_LIMIT, Surprises
from proctor_store.session import Database, StoreUnavailable
from tests.api.conftest import Api, case


async def test_an_unknown_route_and_a_wrong_method_are_problems(api: Api) -> None:
    assert (await api.problem("GET", "/nowhere", status=404))["code"] == "no_such_route"
    assert (await api.problem("GET", "/testing/personas", status=404))["code"] == "no_such_route"
    assert (await api.problem("PUT", "/integrations", status=405))["code"] == "method_not_allowed"


async def test_a_wrong_method_is_told_every_right_one(api: Api) -> None:
    for path, allowed in (
        ("/integrations", "GET, HEAD, POST"),
        (f"/testing/cases/{uuid4()}", "DELETE, GET, HEAD, PATCH"),
        (f"/testing/runs/{uuid4()}/cancel", "POST"),
    ):
        assert (await api("PUT", path)).headers["allow"] == allowed


async def test_head_answers_as_get_does_without_its_body(api: Api) -> None:
    await api.integration()
    for path in ("/integrations", "/integrations?take=0", "/nowhere"):
        got, head = await api("GET", path), await api("HEAD", path)
        assert head.status_code == got.status_code
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.content == b""
    assert (await api.client.head("/healthz")).status_code == 200
    assert (await api("HEAD", "/integrations", key="sk_nobody")).status_code == 401
    assert (await api("HEAD", f"/testing/runs/{uuid4()}/events")).status_code == 405


async def test_who_hangs_up_in_mid_request_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    async def gone(_scope: object, _receive: object, _send: object) -> None:
        raise ClientDisconnect

    async def nothing(*_: object) -> Any:
        pytest.fail("nobody is there to be answered")

    await Surprises(gone)({"type": "http", "method": "POST", "path": "/x", "state": {}}, nothing, nothing)
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


async def test_an_id_that_is_no_uuid_is_not_found(api: Api) -> None:
    for path in ("/integrations/681812836839", "/testing/cases/x", "/testing/runs/%00"):
        assert (await api.problem("GET", path, status=404))["code"] == "not_found"


async def test_a_request_id_is_taken_or_made_and_returned(api: Api) -> None:
    given = await api("GET", "/keys", headers={"X-Request-Id": "abc-1"})
    assert given.headers["x-request-id"] == "abc-1"
    for bad in ("a b", "x" * 129, "<script>"):
        made = (await api("GET", "/keys", headers={"X-Request-Id": bad})).headers["x-request-id"]
        assert made != bad
        assert len(made) == 36


@pytest.mark.parametrize(
    "sent", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=cp1251"]
)
async def test_other_content_types_are_415(api: Api, sent: str) -> None:
    problem = await api.problem(
        "POST", "/integrations", status=415, content=b'{"name": "x"}', headers={"Content-Type": sent}
    )
    assert problem["code"] == "unsupported_media_type"


async def test_a_missing_content_type_is_415_and_json_with_a_suffix_is_read(api: Api) -> None:
    await api.problem("POST", "/integrations", status=415, content=b"{}")
    headers = {"Content-Type": "application/vnd.api+json; charset=UTF-8"}
    problem = await api.problem("POST", "/integrations", content=b"{}", headers=headers)
    assert problem["errors"][0]["path"] == "name"


async def test_a_body_that_is_no_json_object_is_400(api: Api) -> None:
    headers = {"Content-Type": "application/json"}
    for content in (b"", b"[]", b"null", b'"x"', b"{", b"[" * 20_000):
        problem = await api.problem("POST", "/integrations", content=content, headers=headers)
        assert problem["errors"] == []


async def test_a_body_beyond_the_limit_is_413_with_or_without_its_length(api: Api) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 100_000 + 1):
            yield b" " * 100_000

    headers = {"Content-Type": "application/json"}
    await api.problem("POST", "/testing/cases", status=413, content=b" " * (BODY_LIMIT + 1), headers=headers)
    problem = await api.problem("POST", "/testing/cases", status=413, content=chunks(), headers=headers)
    assert problem["code"] == "too_large"


@pytest.mark.parametrize(
    "query",
    [
        "skip=2147483648",
        "skip=-1",
        "take=-5",
        "take=0",
        "take=1e9",
        "take=201",
        "take=x",
        "cursor=x",
        "cursor=%00",
    ],
)
async def test_numbers_out_of_range_are_400_naming_the_parameter(api: Api, query: str) -> None:
    for path in ("/integrations", "/keys", "/testing/cases", "/testing/runs"):
        problem = await api.problem("GET", f"{path}?{query}")
        assert [one["path"] for one in problem["errors"]] == [query.partition("=")[0]]


async def test_a_filter_of_the_wrong_kind_is_400_naming_it(api: Api) -> None:
    problem = await api.problem("GET", "/testing/cases?integrationId=1&priority=urgent&isActive=perhaps")
    assert {one["path"] for one in problem["errors"]} == {"integrationId", "priority", "isActive"}


async def test_a_database_that_is_away_is_503_with_retry_after(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api("GET", "/keys")

    def away(*_: Any) -> Any:
        raise StoreUnavailable("connection refused at 10.0.0.1")

    monkeypatch.setattr(Database, "reading", away)
    response = await api("GET", "/integrations")
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) >= 1
    assert response.json()["code"] == "database_unavailable"
    assert "10.0.0.1" not in response.text


async def test_a_surprise_is_500_and_shows_nothing_of_the_inside(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("secret detail")

    await api("GET", "/keys")
    monkeypatch.setattr(Database, "reading", broken)
    problem = await api.problem("GET", "/integrations", status=500)
    assert problem["code"] == "internal_error"
    assert "secret detail" not in str(problem)
    assert "secret detail" in caplog.text


async def test_a_refused_body_writes_nothing(api: Api) -> None:
    bot = await api.integration()
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    for body in (
        case(integrationId=bot, name="a\x00b"),
        case(integrationId=bot, category="a\ud800b"),
        case(integrationId=bot, ref="ї" * 65),
        case(integrationId=bot, assertions=[{"kind": "json_schema", "schema": {"x": deep}}]),
    ):
        await api.problem("POST", "/testing/cases", body)
    assert (await api("GET", "/testing/cases")).json()["meta"]["total"] == 0
