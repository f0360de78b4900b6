"""An integration's own alerts over HTTP: which addresses are taken, and what is shown of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from proctor_contracts.schemas.integrations import IntegrationFields
from proctor_store.repositories import integrations
from proctor_store.session import Database
from tests.api.conftest import BOTH, Api

pytestmark = BOTH

SLACK = "https://hooks.slack.com/services/T0001/B0001/abcdefghijkl"
SHOWN = "https://hooks.slack.com/***/***/***/***"
FULL = {
    "webhookUrl": SLACK,
    "webhookFormat": "slack",
    "webhookSecret": {"secret": "HOOK_KEY"},
    "delta": 12.5,
    "lookback": 5,
    "tell": ["drift", "model_change"],
    "muted": False,
}


async def stored(database: Database, api: Api, bot: str) -> Any:
    async with database.reading() as unit:
        found = await integrations.get(unit, api.caller.account_id, UUID(bot))
    assert found is not None
    return found.alerts


async def test_alerts_are_kept_whole_and_shown_without_what_may_be_secret(
    api: Api, database: Database
) -> None:
    bot = await api.integration(alerts=FULL)
    path = f"/integrations/{bot}"
    shown = await api.data("GET", path)
    assert shown["alerts"] == FULL | {"webhookUrl": SHOWN}
    assert await stored(database, api, bot) == FULL
    listed = (await api("GET", "/integrations")).json()["data"]
    assert [one["alerts"]["webhookUrl"] for one in listed] == [SHOWN]
    assert (await api.data("GET", f"/integrations/{await api.integration('plain')}"))["alerts"] is None


async def test_a_patch_changes_the_named_settings_alone(api: Api, database: Database) -> None:
    bot = await api.integration(alerts=FULL)
    path = f"/integrations/{bot}"
    changed = await api.data("PATCH", path, {"alerts": {"delta": 20, "lookback": None, "muted": True}})
    wanted = {name: value for name, value in FULL.items() if name != "lookback"}
    wanted |= {"delta": 20.0, "muted": True}
    assert await stored(database, api, bot) == wanted
    assert changed["alerts"] == wanted | {"lookback": None, "webhookUrl": SHOWN}
    assert (await api.data("PATCH", path, {"locale": "uk"}))["alerts"] == changed["alerts"]
    assert (await api.data("PATCH", path, {"alerts": None}))["alerts"] is None
    assert await stored(database, api, bot) is None
    again = await api.data("PATCH", path, {"alerts": {"webhookUrl": SLACK}})
    assert again["alerts"]["webhookUrl"] == SHOWN


async def test_the_address_as_it_is_shown_does_not_take_the_place_of_the_stored_one(
    api: Api, database: Database
) -> None:
    bot = await api.integration(alerts=FULL)
    path = f"/integrations/{bot}"
    problem = await api.problem("PATCH", path, {"alerts": (await api.data("GET", path))["alerts"]})
    (error,) = problem["errors"]
    assert (error["path"], error["code"]) == ("alerts.webhookUrl", "masked_url")
    assert await stored(database, api, bot) == FULL
    body = {"name": "b", "provider": "openai", "alerts": FULL | {"webhookUrl": SHOWN}}
    problem = await api.problem("POST", "/integrations", body)
    assert problem["errors"][0]["code"] == "masked_url"


async def test_a_suite_that_is_run_again_leaves_the_alerts_as_they_are(api: Api, database: Database) -> None:
    bot = await api.integration(alerts=FULL)
    fields = IntegrationFields.model_validate({"name": "bot", "provider": "openai", "model": "other"})
    view = await api.services.integrations.upsert(api.caller, fields)
    assert (str(view.id), view.model) == (bot, "other")
    assert await stored(database, api, bot) == FULL


# Fixtures W-01, W-03 and W-06, with the forms beside them.
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://[::ffff:127.0.0.1]/", "address_not_public"),
        ("http://[::ffff:a9fe:a9fe]/", "address_not_public"),
        ("http://[64:ff9b::7f00:1]/", "address_not_public"),
        ("http://[::]/", "address_not_public"),
        ("http://[::1]/", "address_not_public"),
        ("http://[fd00::1]/", "address_not_public"),
        ("http://0.0.0.0/", "address_not_public"),
        ("http://[fe80::1%25eth0]/", "bad_url"),
        ("http://169.254.169.254/", "address_not_public"),
        ("http://10.1.2.3/", "address_not_public"),
        ("http://100.64.0.1/", "address_not_public"),
        ("http://2130706433/", "ambiguous_host"),
        ("http://0x7f000001/", "ambiguous_host"),
        ("http://0177.0.0.1/", "ambiguous_host"),
        ("http://127.1/", "ambiguous_host"),
        ("http://0/", "ambiguous_host"),
        ("http://①②⑦.0.0.1/", "address_not_public"),
        ("http://169.254.169.254./", "address_not_public"),
        ("http://LOCALHOST/", "address_not_public"),
        ("http://localhost./", "address_not_public"),
        ("http://db.internal/", "address_not_public"),
        ("http://hooks.example@127.0.0.1/", "credentials_in_url"),
        ("http://127.0.0.1:80@hooks.example/", "credentials_in_url"),
        ("http://user:password@hooks.example/", "credentials_in_url"),
        ("http://hooks.example\\@127.0.0.1/", "bad_url"),
        ("http://exa\tmple.com/", "bad_url"),
        ("http://hooks.example/\r\nX-Header: 1", "bad_url"),
        ("http://hooks .example/", "bad_url"),
        ("ftp://hooks.example/", "bad_scheme"),
        ("file:///etc/hostname", "bad_scheme"),
        ("//hooks.example/", "bad_scheme"),
        ("hooks.example", "bad_scheme"),
        ("https://hooks.example:0/", "bad_url"),
        ("https://hooks.example:70000/", "bad_url"),
        ("https:///nowhere", "bad_url"),
    ],
)
async def test_an_address_that_may_not_be_called_is_refused_by_its_field(
    api: Api, url: str, code: str
) -> None:
    body = {"name": "b", "provider": "openai", "alerts": {"webhookUrl": url}}
    bot = await api.integration()
    for method, path, sent in (
        ("POST", "/integrations", body),
        ("PATCH", f"/integrations/{bot}", {"alerts": body["alerts"]}),
    ):
        problem = await api.problem(method, path, sent)
        (error,) = problem["errors"]
        assert (error["path"], error["code"]) == ("alerts.webhookUrl", code), problem
        # Whoever meant a receiver of their own network reads where it may be named.
        told = "TESTING_REGRESSION_WEBHOOK_URL" in error["message"]
        assert told == (code == "address_not_public"), problem
    assert (await api("GET", "/integrations")).json()["meta"]["total"] == 1


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://приклад.укр/", "https://xn--80aikifvh.xn--j1amh/"),
        ("HTTPS://Hooks.Example/a", "https://hooks.example/a"),
        ("https://93.184.216.34:8443/h", "https://93.184.216.34:8443/h"),
        ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"),
    ],
)
async def test_the_address_that_was_read_is_the_one_that_is_kept(
    api: Api, database: Database, url: str, kept: str
) -> None:
    bot = await api.integration(alerts={"webhookUrl": url})
    assert (await stored(database, api, bot))["webhookUrl"] == kept


@pytest.mark.parametrize(
    ("alerts", "path"),
    [
        ({"webhookSecret": "hunter2"}, "alerts.webhookSecret"),
        ({"webhookSecret": {"secret": "a b"}}, "alerts.webhookSecret.secret"),
        ({"webhookFormat": "xml"}, "alerts.webhookFormat"),
        ({"webhookUrl": "https://h.example/\x00"}, "alerts.webhookUrl"),
        ({"webhookUrl": "https://h.example/" + "x" * 2_048}, "alerts.webhookUrl"),
        ({"delta": 0}, "alerts.delta"),
        ({"delta": "10"}, "alerts.delta"),
        ({"lookback": 51}, "alerts.lookback"),
        ({"tell": ["regression"]}, "alerts.tell.0"),
        ({"muted": None}, "alerts.muted"),
        ({"webhook": "x"}, "alerts.webhook"),
    ],
)
async def test_a_setting_that_cannot_be_is_named(api: Api, alerts: dict[str, Any], path: str) -> None:
    problem = await api.problem(
        "POST", "/integrations", {"name": "b", "provider": "openai", "alerts": alerts}
    )
    assert [error["path"] for error in problem["errors"]] == [path], problem
