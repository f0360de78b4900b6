"""Deliveries from the row to the receiver, over hours: the same bytes until they arrive or are given up."""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor_alerter.delivering import LEASE, Deliverer
from proctor_alerter.retrying import PAUSES
from proctor_alerter.sending import Sender
from proctor_alerter.settings import AlerterSettings, Webhook
from proctor_chassis.egress import Operator
from proctor_chassis.metrics import Meters
from proctor_chassis.outage import Outage
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.alerts import WebhookFormat
from proctor_store.repositories import deliveries
from proctor_store.repositories.deliveries import AttemptRecord, DeliveryRecord
from proctor_store.session import StoreUnavailable
from tests.alerter.world import KEY, World, open_world
from tests.store.rows import BOTH
from tests.support.platform import Counted
from tests.support.until import until
from tests.support.webhooks import Never, Raw, WebhookServer

BAD = {"Мова": [0] * 10}


@pytest.fixture
async def hooks() -> AsyncIterator[WebhookServer]:
    async with WebhookServer() as server:
        yield server


@pytest.fixture(params=BOTH)
async def world(request: pytest.FixtureRequest, tmp_path: Path, hooks: WebhookServer) -> AsyncIterator[World]:
    url = f"{hooks.url}/alerts?token=s3cret-s3cret"
    webhook = Webhook(url=url, format=WebhookFormat.JSON, rules=Operator().allowing(url), key=KEY)
    settings = AlerterSettings(webhook=webhook, sending=8, each=2)
    async with open_world(request, tmp_path, settings=settings) as made:
        await made.history({"Мова": [100] * 10})
        yield made


@asynccontextmanager
async def sending(
    world: World,
    *,
    seconds: float = 5.0,
    meters: Meters | None = None,
    outage: Outage | None = None,
) -> AsyncIterator[Deliverer]:
    redactor = Redactor()
    world.settings.hide(redactor)
    sender = Sender(
        settings=world.settings,
        secrets=Secrets(environ={}, embedded=False, redactor=redactor),
        redactor=redactor,
        clock=world.clock.now,
        seconds=seconds,
    )
    deliverer = Deliverer(
        database=world.database,
        sender=sender,
        clock=world.clock,
        rng=random.Random(1),
        meters=meters or Meters(),
        outage=outage or Outage("database", StoreUnavailable),
        sending=world.settings.sending,
        each=world.settings.each,
    )
    try:
        yield deliverer
    finally:
        await deliverer.stop()
        await sender.aclose()


async def told(world: World) -> UUID:
    run = await world.run(BAD)
    await world.hears(run)
    return run


async def tried(world: World, deliverer: Deliverer, *, later: float = 0) -> DeliveryRecord:
    """Let time pass, send what is due and wait for the answer."""
    world.clock.advance(later)
    await deliverer.claim()
    await deliverer.drain(seconds=10)
    return (await world.deliveries())[0]


async def attempts(world: World, delivery: DeliveryRecord) -> Sequence[AttemptRecord]:
    async with world.database.reading() as unit:
        return (await deliveries.attempts_of(unit, [delivery.id]))[delivery.id]


async def test_an_answer_that_comes_too_late_is_a_try_and_the_next_has_the_same_id_and_bytes(
    world: World, hooks: WebhookServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    run = await told(world)
    hooks.answers["/alerts"] = Never()
    async with sending(world, seconds=0.3) as deliverer:
        late = await tried(world, deliverer)
        assert (late.state, late.tries) == ("pending", 1)
        hooks.answers["/alerts"] = {"ok": True}
        assert (await tried(world, deliverer, later=9)).tries == 1
        done = await tried(world, deliverer, later=4)
    assert (done.state, done.tries) == ("delivered", 2)
    first, second = hooks.calls
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == str(done.id)
    assert first.raw == second.raw == done.body.encode()
    assert [(one.number, one.status, one.error) for one in await attempts(world, done)] == [
        (1, None, "timeout"),
        (2, 200, None),
    ]
    lines = [vars(one) for one in caplog.records if one.getMessage() == "delivery.tried"]
    assert [(line["try"], line["state"]) for line in lines] == [(1, "pending"), (2, "delivered")]
    assert "s3cret" not in caplog.text + done.target + str([vars(one) for one in caplog.records])
    (row,) = await world.status(run)
    assert row == "completed"


async def test_a_receiver_that_is_always_broken_is_given_up_after_every_pause(
    world: World, hooks: WebhookServer
) -> None:
    await told(world)
    hooks.answers["/alerts"] = Raw(b"no", status=500)
    counted = Counted()
    async with sending(world, meters=Meters(deliveries=counted)) as deliverer:
        delivery = await tried(world, deliverer)
        for pause in PAUSES:
            assert delivery.state == "pending"
            assert await deliverer.claim() == 0
            delivery = await tried(world, deliverer, later=pause * 1.2)
        assert (delivery.state, delivery.tries) == ("failed", len(PAUSES) + 1)
        world.clock.advance(10**6)
        assert await deliverer.claim() == 0
    assert {call.raw for call in hooks.calls} == {delivery.body.encode()}
    assert counted.by_label == {"retried": len(PAUSES), "failed": 1}


@pytest.mark.parametrize("status", [410, 404, 400, 307])
async def test_a_receiver_that_does_not_want_it_is_asked_once(
    world: World, hooks: WebhookServer, status: int
) -> None:
    await told(world)
    hooks.answers["/alerts"] = Raw(b"gone", status=status, headers={"Location": hooks.url})
    async with sending(world) as deliverer:
        delivery = await tried(world, deliverer)
    assert (delivery.state, delivery.next_attempt_at) == ("failed", None)
    assert len(hooks.calls) == 1


async def test_a_busy_receiver_gets_the_time_it_asks_for(world: World, hooks: WebhookServer) -> None:
    await told(world)
    hooks.answers["/alerts"] = Raw(b"", status=429, headers={"Retry-After": "120"})
    async with sending(world) as deliverer:
        await tried(world, deliverer)
        hooks.answers["/alerts"] = {"ok": True}
        assert (await tried(world, deliverer, later=119)).tries == 1
        assert (await tried(world, deliverer, later=1)).state == "delivered"


async def test_a_redelivery_has_the_same_id_and_bytes_and_goes_on_counting(
    world: World, hooks: WebhookServer
) -> None:
    await told(world)
    async with sending(world) as deliverer:
        done = await tried(world, deliverer)
        async with world.database.transaction() as unit:
            assert await deliveries.redeliver(unit, world.account, done.id, now=world.clock.now())
        again = await tried(world, deliverer)
    assert (again.state, again.tries) == ("delivered", 1)
    assert [one.number for one in await attempts(world, again)] == [1, 2]
    assert hooks.calls[0].raw == hooks.calls[1].raw
    assert hooks.calls[0].headers["webhook-id"] == hooks.calls[1].headers["webhook-id"]


async def test_what_was_sent_and_not_recorded_is_sent_again_with_the_same_id(
    world: World, hooks: WebhookServer
) -> None:
    await told(world)
    hooks.answers["/alerts"] = Never()
    async with sending(world) as killed:
        await killed.claim()
        await hooks.until(lambda: len(hooks.calls) == 1)
    hooks.answers["/alerts"] = {"ok": True}
    async with sending(world) as deliverer:
        assert await deliverer.claim() == 0
        done = await tried(world, deliverer, later=LEASE.total_seconds())
    assert (done.state, len(hooks.calls)) == ("delivered", 2)
    assert hooks.calls[0].headers["webhook-id"] == hooks.calls[1].headers["webhook-id"]


async def test_two_at_once_go_to_one_receiver_and_a_slow_one_holds_up_no_other(
    world: World, hooks: WebhookServer, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.answers["/alerts"] = Never()
    for _ in range(4):
        await told(world)
    async with sending(world) as deliverer:
        assert await deliverer.claim() == 2
        assert await deliverer.claim() == 0
        await hooks.until(lambda: hooks.in_flight == 2)
        # The run of another receiver: refused, since it is not public, but tried at once.
        await world.own({"webhookUrl": f"{hooks.url}/own"})
        run = await told(world)
        assert await deliverer.claim() == 1
        (alert,) = (await world.alerts(run)).values()
        await until(lambda: any(one.getMessage() == "delivery.tried" for one in caplog.records))
        (line,) = [vars(one) for one in caplog.records if one.getMessage() == "delivery.tried"]
        assert (line["alert"], line["state"], line["error"]) == (
            str(alert.id),
            "failed",
            "address_not_public",
        )
        assert hooks.in_flight == 2
    assert {call.path for call in hooks.calls} == {"/alerts"}


async def test_the_loop_sends_what_it_is_woken_for_and_outlives_an_outage(
    world: World, hooks: WebhookServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, failing, tries = deliveries.claim, [True], list[bool]()

    async def claim(*arguments: Any, **named: Any) -> Any:
        tries.append(failing[0])
        if failing[0]:
            raise StoreUnavailable("weg")
        return await real(*arguments, **named)

    monkeypatch.setattr(deliveries, "claim", claim)
    await told(world)
    outage = Outage("database", StoreUnavailable)
    async with sending(world, outage=outage) as deliverer:
        deliverer.start()
        await until(lambda: outage.away)
        seen = len(tries)
        deliverer.wake()
        await until(lambda: len(tries) > seen)
        failing[0] = False
        deliverer.wake()
        await hooks.until(lambda: len(hooks.calls) == 1)
        await until(lambda: not outage.away)
    assert [one.getMessage() for one in caplog.records].count("database_away") == 1


async def test_a_try_is_recorded_though_the_database_was_away_when_it_ended(
    world: World, hooks: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failing = deliveries.finish, [2]

    async def finish(*arguments: Any, **named: Any) -> Any:
        if failing[0]:
            failing[0] -= 1
            raise StoreUnavailable("weg")
        return await real(*arguments, **named)

    monkeypatch.setattr(deliveries, "finish", finish)
    await told(world)
    async with sending(world) as deliverer:
        await deliverer.claim()
        for _ in range(2):
            await world.clock.next()
        await deliverer.drain(seconds=10)
    (delivery,) = await world.deliveries()
    assert (delivery.state, len(hooks.calls)) == ("delivered", 1)
