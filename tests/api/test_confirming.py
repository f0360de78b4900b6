"""Suspected regressions from the bus, on both databases: one rerun each, or the reason why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytest_asyncio
from sqlalchemy import insert, select

from proctor_api.confirming import Confirming
from proctor_api.usecases.confirmations import Confirmation, Confirmations
from proctor_api.wiring import Services
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.messages import RegressionDetected
from proctor_contracts.topology import API_REGRESSIONS
from proctor_contracts.verdicts import RegressionVerdict
from proctor_store.repositories import accounts, outbox
from proctor_store.session import Database, StoreUnavailable
from proctor_store.tables import RunLook
from tests.api.conftest import BOTH, Api, Time, case
from tests.support.manual_clock import ManualClock

pytestmark = BOTH

LOOK_EVERY = 0.01

CASES = [
    case(name="a", ref="A", category="Мова"),
    case(name="b", ref="B", category="Тон"),
    case(name="c", ref="C", category="Мова"),
]
SETTINGS = {
    "retriesOnFailure": 2,
    "concurrency": 3,
    "tags": ["nightly"],
    "gate": {"minPassRate": 0.5},
    "trigger": "scheduled",
    "scoreThreshold": 60,
}


@dataclass
class Stage:
    """A run whose look asks for a rerun, and the bus over which it does."""

    api: Api
    database: Database
    bus: InProcessBus
    clock: ManualClock
    time: Time
    bot: str
    run: dict[str, Any]

    def event(self, **more: Any) -> RegressionDetected:
        fields: dict[str, Any] = {
            "run_id": UUID(self.run["id"]),
            "account_id": self.api.caller.account_id,
            "integration_id": UUID(self.bot),
            "verdict": RegressionVerdict.SUSPECTED,
            "categories": (),
            "confirm": ("Мова",),
        }
        return RegressionDetected(**(fields | more))

    async def look(self) -> Any:
        columns = (RunLook.state, RunLook.reason, RunLook.confirming_run_id)
        async with self.database.reading() as unit:
            query = select(*columns).where(RunLook.run_id == UUID(self.run["id"]))
            return (await unit.connection.execute(query)).one_or_none()

    async def settled(self) -> Any:
        """Wait until the queue is empty and nobody works on it; returns the look."""

        never = asyncio.Event()
        async with asyncio.timeout(20):
            while (depth := await self.bus.depth(API_REGRESSIONS.name)) and (depth.ready or depth.unacked):
                with suppress(TimeoutError):
                    await asyncio.wait_for(never.wait(), LOOK_EVERY)
        return await self.look()

    async def reruns(self) -> list[Any]:
        listed = (await self.api("GET", "/testing/runs")).json()["data"]
        return [run for run in listed if run["confirmsRunId"] is not None]

    async def limit(self, **columns: int | None) -> None:
        async with self.database.transaction() as unit:
            await accounts.change(unit, self.api.caller.account_id, columns)


@pytest_asyncio.fixture
async def stage(api: Api, services: Services, database: Database, time: Time) -> AsyncIterator[Stage]:
    bot = await api.integration(agentPrompt="one")
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": CASES})
    body = {"integrationId": bot, "caseFilter": {}, **SETTINGS}
    run = await api.data("POST", "/testing/runs", body, status=201)
    async with database.transaction() as unit:
        await unit.connection.execute(
            insert(RunLook).values(
                run_id=UUID(run["id"]),
                account_id=api.caller.account_id,
                integration_id=UUID(bot),
                state="asked",
                findings=[],
                baseline_run_ids=[],
                model_changes=[],
                confirm=["Мова"],
                created_at=time.now(),
                updated_at=time.now(),
            )
        )
    clock = ManualClock()
    bus = InProcessBus(clock=clock)
    await bus.start([Confirming(confirmations=lambda: services.confirmations).subscription()])
    yield Stage(api, database, bus, clock, time, bot, run)
    await bus.stop(grace_seconds=1)


async def test_the_suspected_categories_are_played_three_times_as_they_were(stage: Stage) -> None:
    api = stage.api
    listed = (await api("GET", "/testing/cases")).json()["data"]
    first = next(one for one in listed if one["ref"] == "A")
    await api.data("PATCH", f"/testing/cases/{first['id']}", {"name": "changed", "category": "Інше"})
    await api.data("PATCH", f"/integrations/{stage.bot}", {"agentPrompt": "two", "model": "other"})
    await stage.bus.publish(stage.event())
    look = await stage.settled()
    (rerun,) = await stage.reruns()
    assert (look.state, look.reason, look.confirming_run_id) == ("asked", None, UUID(rerun["id"]))
    assert rerun["confirmsRunId"] == rerun["rerunOf"] == stage.run["id"]
    assert (rerun["repeats"], rerun["retriesOnFailure"], rerun["progress"]["total"]) == (3, 0, 6)
    assert rerun["tags"] == ["nightly", "confirming"]
    assert (rerun["trigger"], rerun["scheduleId"]) == ("scheduled", None)
    assert (rerun["agentPromptSnapshot"], rerun["model"]) == ("one", "m")
    assert (rerun["concurrency"], rerun["scoreThreshold"]) == (3, 60)
    assert (rerun["gate"]["minPassRate"], rerun["gate"]["maxErrorRate"]) == (0, 1)
    page = (await api("GET", f"/testing/runs/{rerun['id']}/results")).json()["data"]["results"]
    assert sorted({(one["caseRef"], one["caseName"], one["category"]) for one in page}) == [
        ("A", "a", "Мова"),
        ("C", "c", "Мова"),
    ]


async def test_a_look_is_confirmed_once_however_often_it_is_asked_for(
    stage: Stage, services: Services
) -> None:
    for _ in range(3):
        await stage.bus.publish(stage.event())
    await stage.settled()
    again = await asyncio.gather(*(services.confirmations.confirm(stage.event()) for _ in range(3)))
    assert set(again) == {Confirmation.KNOWN}
    assert len(await stage.reruns()) == 1


async def test_what_asks_for_nothing_starts_nothing(stage: Stage) -> None:
    await stage.bus.publish(stage.event(confirm=(), verdict=RegressionVerdict.REGRESSION))
    await stage.bus.publish(stage.event(run_id=uuid4()))
    look = await stage.settled()
    assert (look.state, look.confirming_run_id) == ("asked", None)
    assert await stage.reruns() == []


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"balance_micro": 0}, "balance_exhausted: "), ({"runs_per_minute": 0}, "too_many_requests: ")],
)
async def test_an_account_that_may_not_start_runs_is_asked_again_for_an_hour(
    stage: Stage, limits: dict[str, int], reason: str
) -> None:
    await stage.limit(**limits)
    await stage.bus.publish(stage.event())
    tries = 0
    while (await stage.settled()).state == "asked":
        assert await stage.clock.next() == 300
        stage.time.pass_(300)
        tries += 1
    look = await stage.look()
    assert tries == 12
    assert (look.state, look.confirming_run_id) == ("refused", None)
    assert look.reason.startswith(reason)
    assert await stage.reruns() == []
    await stage.limit(balance_micro=None, runs_per_minute=None)
    await stage.bus.publish(stage.event())
    assert (await stage.settled()).state == "refused"
    assert await stage.reruns() == []


async def test_an_account_that_is_topped_up_meanwhile_gets_its_rerun(stage: Stage) -> None:
    await stage.limit(balance_micro=-5)
    await stage.bus.publish(stage.event())
    await stage.settled()
    await stage.clock.next()
    await stage.settled()
    await stage.limit(balance_micro=None)
    await stage.clock.next()
    assert (await stage.settled()).confirming_run_id is not None
    assert len(await stage.reruns()) == 1


async def test_without_cases_the_look_says_so(stage: Stage) -> None:
    await stage.bus.publish(stage.event(confirm=("Немає",)))
    look = await stage.settled()
    assert (look.state, look.reason.partition(":")[0]) == ("refused", "no_cases")
    assert "Немає" in look.reason


async def test_a_run_that_is_deleted_is_not_played_again(stage: Stage) -> None:
    await stage.api.data("POST", f"/testing/runs/{stage.run['id']}/cancel")
    assert (await stage.api("DELETE", f"/testing/runs/{stage.run['id']}")).status_code == 204
    assert await stage.reruns() == []
    await stage.bus.publish(stage.event())
    look = await stage.settled()
    assert look.state == "refused"
    assert look.reason.startswith("run_gone: ")
    assert await stage.reruns() == []


async def test_a_database_that_is_away_is_not_the_events_fault(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        monkeypatch.undo()
        raise StoreUnavailable("away")

    monkeypatch.setattr(Confirmations, "confirm", away)
    await stage.bus.publish(stage.event())
    assert await stage.clock.next() == 5
    assert (await stage.settled()).confirming_run_id is not None


async def test_an_hour_is_counted_from_the_look(stage: Stage, services: Services) -> None:
    await stage.limit(balance_micro=0)
    stage.time.moment += timedelta(minutes=59)
    assert await services.confirmations.confirm(stage.event()) is Confirmation.LATER
    stage.time.moment += timedelta(minutes=1)
    assert await services.confirmations.confirm(stage.event()) is Confirmation.REFUSED


async def test_what_was_asked_for_and_lost_with_the_process_is_asked_for_again(
    stage: Stage, services: Services
) -> None:
    assert await services.confirmations.resend() >= 1
    async with stage.database.transaction() as unit:
        rows = await outbox.take(unit, limit=1_000)
    events = [RegressionDetected.read(row.body.encode()) for row in rows if row.key == "regression.detected"]
    assert [event for event in events if event.account_id == stage.api.caller.account_id] == [stage.event()]
    assert await services.confirmations.confirm(stage.event()) is Confirmation.STARTED
    async with stage.database.transaction() as unit:
        await outbox.remove(unit, [row.row for row in rows])
    await services.confirmations.resend()
    async with stage.database.transaction() as unit:
        left = {row.run_id for row in await outbox.take(unit, limit=1_000)}
    assert UUID(stage.run["id"]) not in left
