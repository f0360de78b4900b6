"""Captures over the bus: kept once, however often they come; what cannot be kept is a dead letter."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from proctor_api.intake import CaptureIntake
from proctor_api.pipeline.assembly import Pipeline
from proctor_api.usecases.captures import Captures
from proctor_api.wiring import Services
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.metrics import Meters
from proctor_llm.prices import Prices
from proctor_store.session import Database, StoreUnavailable
from tests.api.conftest import BOTH, Api, Time
from tests.support.manual_clock import ManualClock
from tests.support.until import until

pytestmark = BOTH


@dataclass
class Counter:
    counts: dict[tuple[str, ...], float] = field(default_factory=dict)

    def add(self, amount: float = 1, **labels: str) -> None:
        key = tuple(labels.values())
        self.counts[key] = self.counts.get(key, 0) + amount

    def set(self, value: float, **labels: str) -> None: ...

    def observe(self, value: float, **labels: str) -> None: ...


@dataclass
class Stage:
    """An integration's owner, and the bus that the API listens to."""

    api: Api
    bus: InProcessBus
    integration: str
    taken: Counter
    refused: Counter
    clock: ManualClock

    async def send(self, body: bytes) -> None:
        await self.bus.publish_raw(
            exchange="proctor.events", key="capture.recorded", body=body, message_id="m", correlation=""
        )

    def event(self, **more: Any) -> bytes:
        body = {
            "integrationId": self.integration,
            "externalId": "chat-1",
            "transcript": [{"role": "user", "content": "Де гроші? 0501234567"}],
            **more,
        }
        return json.dumps(body).encode()

    async def kept(self) -> list[Any]:
        return list((await self.api("GET", "/testing/captures")).json()["data"])


@pytest_asyncio.fixture
async def stage(api: Api, services: Services, database: Database, time: Time) -> AsyncIterator[Stage]:
    taken, refused, clock = Counter(), Counter(), ManualClock()
    meters = Meters(captures=taken, captures_refused=refused)
    bus = InProcessBus(clock=clock, meters=meters)
    pipeline = Pipeline(
        database=database,
        bus=bus,
        prices=Prices.load(None),
        clock=time.now,
        meters=meters,
        pools=(),
        owner="test",
        alone=True,
    )
    intake = CaptureIntake(captures=lambda: services.captures, meters=meters)
    await bus.start((*pipeline.subscriptions(), intake.subscription()))
    yield Stage(api, bus, await api.integration(), taken, refused, clock)
    await bus.stop(grace_seconds=1)


async def test_an_event_is_kept_without_personal_data_for_the_account_of_its_integration(
    stage: Stage,
) -> None:
    await stage.send(stage.event(metadata={"a": 1}, tags=["t"], flaggedReason="r", mood="future"))
    await until(lambda: bool(stage.taken.counts))
    (kept,) = await stage.kept()
    assert (kept["integrationId"], kept["externalId"], kept["source"], kept["status"]) == (
        stage.integration,
        "chat-1",
        "sofa",
        "new",
    )
    assert kept["transcript"][0]["content"] == "Де гроші? [phone-1]"
    assert (kept["metadata"], kept["tags"], kept["flaggedReason"]) == ({"a": 1}, ["t"], "r")
    stranger = await stage.api.another("stranger")
    assert (await stranger("GET", "/testing/captures")).json()["data"] == []


async def test_an_event_that_comes_again_changes_nothing(stage: Stage) -> None:
    for _ in range(5):
        await stage.send(stage.event())
    await until(lambda: sum(stage.taken.counts.values()) == 5)
    assert stage.taken.counts == {("sofa", "new"): 1, ("sofa", "known"): 4}
    assert len(await stage.kept()) == 1
    assert stage.refused.counts == {}


async def test_what_a_bot_said_is_mended(stage: Stage) -> None:
    body = stage.event(transcript=[{"role": "agent", "content": "@"}]).replace(
        b"@", rb"\u0000 \ud800 \\u0000"
    )
    await stage.send(body)
    await until(lambda: bool(stage.taken.counts))
    assert (await stage.kept())[0]["transcript"][0]["content"] == "\ufffd \ufffd \\u0000"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"integrationId": str(uuid4())}, "permanent:unknown_integration"),
        ({"integrationId": "sofa"}, "undecodable"),
        ({"externalId": None}, "undecodable"),
        ({"transcript": []}, "undecodable"),
        ({"transcript": [{"role": "user", "content": "x" * 800_000}]}, "permanent:too_large"),
        ({"metadata": {"x": "x" * 70_000}}, "permanent:too_large"),
        ({"metadata": {"n": 10**30}}, "permanent:invalid"),
        ({"transcript": [{"role": "user", "content": "x", "turn": 10**30}]}, "permanent:invalid"),
        ({"v": 2}, "unknown_version"),
    ],
)
async def test_what_can_never_be_kept_is_a_dead_letter_that_is_counted_by_its_reason(
    stage: Stage, more: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.send(stage.event(**more))
    await until(lambda: bool(stage.refused.counts))
    assert stage.refused.counts == {(reason,): 1}
    assert await stage.kept() == []
    assert "0501234567" not in caplog.text


async def test_metadata_nested_too_deep_is_refused(stage: Stage) -> None:
    for depth in (100, 1_000):
        nested = b"[" * depth + b"]" * depth
        await stage.send(stage.event(metadata={"a": "@"}).replace(b'"@"', nested))
    await until(lambda: sum(stage.refused.counts.values()) == 2)
    assert stage.refused.counts == {("permanent:invalid",): 1, ("undecodable",): 1}


async def test_a_database_that_is_away_is_not_the_events_fault(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        monkeypatch.undo()
        raise StoreUnavailable("away")

    monkeypatch.setattr(Captures, "receive", away)
    await stage.send(stage.event())
    assert await stage.clock.next() == 5
    await until(lambda: bool(stage.taken.counts))
    assert len(await stage.kept()) == 1
    assert stage.refused.counts == {}
