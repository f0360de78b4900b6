"""Alerts over HTTP, on both databases: read with every try, sent again, nobody else's."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from proctor_contracts.ids import new_id
from proctor_store.repositories import alerts, deliveries
from proctor_store.repositories.alerts import AlertRecord
from proctor_store.repositories.deliveries import AttemptRecord, DeliveryRecord
from proctor_store.session import Database
from tests.api.conftest import BOTH, Api, Time

pytestmark = BOTH

PATH = "/testing/alerts"
AT = datetime(2026, 5, 4, 3, tzinfo=UTC)
PAYLOAD = {"kind": "regression", "regressions": [{"category": "Мова", "deltaPoints": 19}]}


class Desk:
    """What the alerter would have written."""

    def __init__(self, api: Api, database: Database, bot: str) -> None:
        self.api = api
        self.database = database
        self.bot = bot

    async def alert(self, **more: Any) -> str:
        fields: dict[str, Any] = {
            "id": new_id(),
            "account_id": self.api.caller.account_id,
            "integration_id": UUID(self.bot),
            "run_id": new_id(),
            "schedule_id": None,
            "kind": "regression",
            "occasion": "",
            "verdict": "regression",
            "payload": PAYLOAD,
            "untold": None,
            "created_at": AT,
        }
        record = AlertRecord(**(fields | more))
        async with self.database.transaction() as unit:
            written = json.dumps(record.payload, ensure_ascii=False)
            assert await alerts.create(unit, record, written=written)
        return str(record.id)

    async def delivery(self, alert: str, **more: Any) -> DeliveryRecord:
        fields: dict[str, Any] = {
            "id": new_id(),
            "account_id": self.api.caller.account_id,
            "alert_id": UUID(alert),
            "integration_id": UUID(self.bot),
            "source": "environment",
            "target": "https://hooks.example/***",
            "format": "json",
            "body": "{}",
            "state": "pending",
            "tries": 0,
            "next_attempt_at": AT,
            "claimed_until": None,
            "created_at": AT,
            "updated_at": AT,
        }
        record = DeliveryRecord(**(fields | more))
        async with self.database.transaction() as unit:
            await deliveries.create(unit, record)
        return record

    async def tried(self, delivery: DeliveryRecord, state: str, **more: Any) -> None:
        fields: dict[str, Any] = {
            "delivery_id": delivery.id,
            "number": 1,
            "at": AT,
            "duration_ms": 12,
            "status": None,
            "error": None,
            "detail": None,
        }
        async with self.database.transaction() as unit:
            await deliveries.finish(
                unit,
                delivery,
                AttemptRecord(**(fields | more)),
                state=state,
                target=delivery.target,
                next_attempt_at=None,
                now=AT,
            )


@pytest.fixture
async def desk(api: Api, database: Database) -> Desk:
    return Desk(api, database, await api.integration())


async def test_an_alert_is_read_with_every_try_of_its_deliveries(desk: Desk, api: Api) -> None:
    schedule, run = new_id(), new_id()
    alert = await desk.alert(schedule_id=schedule, run_id=run)
    delivery = await desk.delivery(alert)
    await desk.tried(delivery, "pending", error="timeout", detail="no answer within 10 s")
    await desk.tried(delivery, "delivered", status=204)
    found = await api.data("GET", f"{PATH}/{alert}")
    assert (await api("GET", PATH)).json()["data"] == [found]
    assert found["payload"] == PAYLOAD
    assert (found["id"], found["kind"], found["verdict"]) == (alert, "regression", "regression")
    assert (found["integrationId"], found["runId"], found["scheduleId"]) == (
        desk.bot,
        str(run),
        str(schedule),
    )
    assert (found["untold"], found["createdAt"]) == (None, "2026-05-04T03:00:00.000Z")
    (made,) = found["deliveries"]
    assert (made["id"], made["state"], made["format"]) == (str(delivery.id), "delivered", "json")
    assert made["target"] == "https://hooks.example/***"
    assert [(one["number"], one["status"], one["error"]) for one in made["attempts"]] == [
        (1, None, "timeout"),
        (2, 204, None),
    ]


async def test_a_list_is_filtered_and_paged(desk: Desk, api: Api) -> None:
    other = Desk(api, desk.database, await api.integration("other"))
    run, schedule = new_id(), new_id()
    one = await desk.alert(run_id=run)
    two = await desk.alert(run_id=run, kind="model_change", verdict=None, untold="only recorded")
    three = await other.alert(kind="recovery", verdict=None, schedule_id=schedule)

    async def listed(query: str) -> list[str]:
        return [alert["id"] for alert in (await api("GET", f"{PATH}{query}")).json()["data"]]

    assert await listed("") == [three, two, one]
    assert await listed(f"?integrationId={desk.bot}") == [two, one]
    assert await listed("?kind=recovery") == [three]
    assert await listed(f"?runId={run}&kind=regression") == [one]
    assert await listed(f"?scheduleId={schedule}") == [three]
    page = (await api("GET", f"{PATH}?take=2")).json()
    assert page["meta"]["total"] == 3
    assert await listed(f"?take=2&cursor={page['meta']['nextCursor']}") == [one]
    problem = await api.problem("GET", f"{PATH}?kind=nothing")
    assert problem["errors"][0]["path"] == "kind"
    await api.problem("GET", f"{PATH}?integrationId={uuid4()}", status=404)


@pytest.mark.parametrize("state", ["delivered", "failed"])
async def test_an_alert_can_be_sent_again_when_it_is_over(
    desk: Desk, api: Api, time: Time, state: str
) -> None:
    alert = await desk.alert()
    delivery = await desk.delivery(alert, state=state, tries=8, next_attempt_at=None)
    answer = await api.data("POST", f"{PATH}/{alert}/redeliver", status=202)
    (made,) = answer["deliveries"]
    assert (made["id"], made["state"]) == (str(delivery.id), "pending")
    assert made["nextAttemptAt"] == time.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    problem = await api.problem("POST", f"{PATH}/{alert}/redeliver", status=409)
    assert problem["code"] == "delivery_pending"


async def test_asking_twice_at_once_sends_it_once(desk: Desk, api: Api) -> None:
    alert = await desk.alert()
    await desk.delivery(alert, state="failed", next_attempt_at=None)
    answers = await asyncio.gather(*(api("POST", f"{PATH}/{alert}/redeliver") for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409, 409]


async def test_what_has_nowhere_to_go_is_not_sent_again(desk: Desk, api: Api) -> None:
    untold = await desk.alert(untold="no webhook is configured")
    problem = await api.problem("POST", f"{PATH}/{untold}/redeliver")
    assert problem["code"] == "no_webhook"
    assert "no webhook is configured" in problem["detail"]
    alert = await desk.alert()
    await desk.delivery(alert, state="failed", source="integration", next_attempt_at=None)
    assert (await api.problem("POST", f"{PATH}/{alert}/redeliver"))["code"] == "no_webhook"
    hook = {"alerts": {"webhookUrl": "https://hooks.example/"}}
    await api.data("PATCH", f"/integrations/{desk.bot}", hook)
    await api.data("POST", f"{PATH}/{alert}/redeliver", status=202)


async def test_another_accounts_alerts_look_like_none_and_a_public_key_sees_none(
    desk: Desk, api: Api
) -> None:
    alert = await desk.alert()
    await desk.delivery(alert, state="failed", next_attempt_at=None)
    stranger, key = await api.another("umbrella"), await api.public_key()
    for method, path in (("GET", f"{PATH}/{alert}"), ("POST", f"{PATH}/{alert}/redeliver")):
        assert (await stranger.problem(method, path, status=404))["code"] == "not_found"
        await api.problem(method, path, status=403, key=key)
    await api.problem("GET", PATH, status=403, key=key)
    await api.problem("GET", f"{PATH}/{uuid4()}", status=404)
    await stranger.problem("GET", f"{PATH}?integrationId={desk.bot}", status=404)
    assert (await stranger("GET", PATH)).json()["meta"]["total"] == 0
    (left,) = (await api.data("GET", f"{PATH}/{alert}"))["deliveries"]
    assert left["state"] == "failed"
