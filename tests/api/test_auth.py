"""Keys: who gets in, what a public key may do, when a revoked one ends."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from proctor_api.auth import Authenticator, key_digest
from proctor_store.paging import Page
from proctor_store.repositories import keys
from proctor_store.session import Database, StoreUnavailable
from tests.api.conftest import Api, Time

RUN = f"/testing/runs/{uuid4()}"


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic abc", "sk_x", "Bearer sk_unknown", f"Bearer {'x' * 5000}"],
)
async def test_without_a_known_bearer_key_it_is_401(api: Api, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    response = await api.client.get("/api/keys", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_key_is_asked_for_before_a_body_is_read(api: Api) -> None:
    response = await api.client.post("/api/integrations", content=b"[" * 20_000)
    assert response.status_code == 401


async def test_the_scheme_is_read_in_any_case(api: Api) -> None:
    response = await api.client.get("/api/keys", headers={"Authorization": f"bearer  {api.key} "})
    assert response.status_code == 200


async def test_a_public_key_reads_runs_and_nothing_else(api: Api) -> None:
    key = await api.public_key()
    assert (await api("GET", "/testing/runs", key=key)).status_code == 200
    for path in (RUN, f"{RUN}/results", f"{RUN}/events", f"{RUN}/export"):
        await api.problem("GET", path, status=404, key=key)
    for method, path in (
        ("GET", "/integrations"),
        ("POST", "/integrations"),
        ("GET", "/testing/cases"),
        ("POST", "/testing/cases"),
        ("POST", "/testing/cases/validate"),
        ("POST", "/testing/cases/bulk"),
        ("POST", "/testing/runs"),
        ("POST", f"{RUN}/cancel"),
        ("POST", f"{RUN}/rerun"),
        ("DELETE", RUN),
        ("GET", "/keys"),
        ("POST", "/keys"),
        ("DELETE", f"/keys/{uuid4()}"),
    ):
        problem = await api.problem(method, path, status=403, key=key)
        assert problem["code"] == "forbidden"


async def test_a_key_is_shown_once_and_stored_as_a_digest(api: Api, database: Database) -> None:
    response = await api("POST", "/keys", {"kind": "public", "name": "ci"})
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    made = response.json()["data"]
    assert made["key"].startswith(made["prefix"])
    assert made["key"].startswith("pk_")
    assert len(made["key"]) > 40
    listed = (await api("GET", "/keys")).text
    assert made["key"] not in listed
    assert made["prefix"] in listed
    async with database.reading() as unit:
        found = await keys.by_hash(unit, key_digest(made["key"]))
    assert found is not None
    assert made["key"] not in repr(found)


async def test_a_revoked_key_ends_at_once_where_it_was_revoked(api: Api) -> None:
    made = await api.data("POST", "/keys", {}, status=201)
    assert (await api("GET", "/keys", key=made["key"])).status_code == 200
    assert (await api("DELETE", f"/keys/{made['id']}")).status_code == 204
    await api.problem("GET", "/keys", status=401, key=made["key"])
    await api.problem("DELETE", f"/keys/{made['id']}", status=404)
    assert made["id"] not in (await api("GET", "/keys")).text


async def test_another_replica_forgets_a_revoked_key_within_five_seconds(
    api: Api, database: Database, time: Time
) -> None:
    other = Authenticator(database=database, clock=time.now, monotonic=time.monotonic)
    made = await api.data("POST", "/keys", {}, status=201)
    header = f"Bearer {made['key']}"
    assert (await other.authenticate(header)).account_id == api.caller.account_id
    await api("DELETE", f"/keys/{made['id']}")
    time.pass_(5)
    with pytest.raises(Exception, match="unauthorized"):
        await other.authenticate(header)
    await other.aclose()


async def test_another_accounts_key_cannot_be_revoked(api: Api) -> None:
    made = await api.data("POST", "/keys", {}, status=201)
    await (await api.another("umbrella")).problem("DELETE", f"/keys/{made['id']}", status=404)
    assert (await api("GET", "/keys", key=made["key"])).status_code == 200


async def used(api: Api) -> str | None:
    await api.services.authenticator.aclose()
    (key,) = (await api.services.keys.list(api.caller, Page())).data
    return None if key.last_used_at is None else key.last_used_at.isoformat()


async def test_use_is_noted_once_a_minute(api: Api, time: Time) -> None:
    assert await used(api) is None
    await api("GET", "/keys")
    first = await used(api)
    assert first is not None
    time.pass_(30)
    await api("GET", "/keys")
    assert await used(api) == first
    time.pass_(31)
    await api("GET", "/keys")
    assert await used(api) == time.now().isoformat() != first


async def test_noting_use_never_stands_in_a_requests_way(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(keys, "touch", away)
    assert (await api("GET", "/keys")).status_code == 200
    await asyncio.wait_for(api.services.authenticator.aclose(), 5)
