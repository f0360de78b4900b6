"""Fired ticks from the bus, on both databases: one run each, a wait, or the reason why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytest_asyncio
from sqlalchemy import delete, insert, select, update

from proctor_api.consuming import Consumers
from proctor_api.pipeline.assembly import Pipeline
from proctor_api.usecases.firings import Firing, Firings
from proctor_api.wiring import Services
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_chassis.metrics import Meters
from proctor_contracts.ids import new_id
from proctor_contracts.messages import ScheduleFired
from proctor_contracts.topology import API_SCHEDULES, DEAD_LETTERS
from proctor_llm.prices import Prices
from proctor_store.repositories import accounts, outbox
from proctor_store.session import Database, StoreUnavailable
from proctor_store.tables import OutboxRow, Schedule, ScheduleTick
from tests.api.conftest import BOTH, Api, Time, case
from tests.support.manual_clock import ManualClock

pytestmark = BOTH

LOOK_EVERY = 0.01
PLANNED = datetime(2026, 5, 4, 11, tzinfo=UTC)
NEXT = datetime(2026, 5, 5, 11, tzinfo=UTC)


@dataclass
class Stage:
    """A schedule whose tick was fired, and the bus that the API listens to."""

    api: Api
    services: Services
    database: Database
    bus: InProcessBus
    clock: ManualClock
    bot: str
    schedule: str

    @property
    def path(self) -> str:
        return f"/testing/schedules/{self.schedule}"

    async def fire(self, planned: datetime = PLANNED, **more: Any) -> ScheduleFired:
        """What the scheduler writes of a due tick."""
        values: dict[str, Any] = {
            "id": new_id(),
            "account_id": self.api.caller.account_id,
            "schedule_id": UUID(self.schedule),
            "planned_at": planned,
            "planned_local": planned.isoformat(timespec="minutes"),
            "status": "fired",
            "fires": 1,
            "missed": 0,
            "fired_at": planned,
            "created_at": planned,
        } | more
        async with self.database.transaction() as unit:
            await unit.connection.execute(insert(ScheduleTick).values(**values))
            await unit.connection.execute(
                update(Schedule).where(Schedule.id == UUID(self.schedule)).values(next_run_at=NEXT)
            )
        return ScheduleFired(
            account_id=values["account_id"],
            schedule_id=values["schedule_id"],
            tick_id=values["id"],
            planned_at=planned,
        )

    async def again(self, event: ScheduleFired) -> ScheduleFired:
        """The same tick, fired once more after it was put off."""
        async with self.database.transaction() as unit:
            await unit.connection.execute(
                update(ScheduleTick).where(ScheduleTick.id == event.tick_id).values(status="fired", fires=2)
            )
            await unit.connection.execute(
                update(Schedule).where(Schedule.id == UUID(self.schedule)).values(waiting_for=None)
            )
        return event.model_copy(update={"fire": 1})

    async def handled(self) -> None:
        """Wait until both queues are empty and nobody works on them."""
        never = asyncio.Event()
        async with asyncio.timeout(20):
            for queue in (API_SCHEDULES, DEAD_LETTERS):
                while (depth := await self.bus.depth(queue.name)) and (depth.ready or depth.unacked):
                    with suppress(TimeoutError):
                        await asyncio.wait_for(never.wait(), LOOK_EVERY)

    async def ticks(self) -> list[tuple[str, str | None, str | None]]:
        found = await self.api.data("GET", f"{self.path}/ticks")
        return [(one["status"], one["runId"], one["reason"]) for one in found]

    async def runs(self) -> list[Any]:
        return list((await self.api("GET", f"/testing/runs?scheduleId={self.schedule}")).json()["data"])

    async def limit(self, **columns: int | None) -> None:
        async with self.database.transaction() as unit:
            await accounts.change(unit, self.api.caller.account_id, columns)


@pytest_asyncio.fixture
async def stage(api: Api, services: Services, database: Database, time: Time) -> AsyncIterator[Stage]:
    bot = await api.integration(agentPrompt="one")
    cases = [case(name="a", ref="A", priority="high"), case(name="b", ref="B")]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": bot, "cases": cases})
    mode = {"kind": "case", "run": {"repeats": 2, "tags": ["nightly"], "scoreThreshold": 80}}
    body = {"name": "n", "integrationId": bot, "cronExpression": "0 11 * * *", "mode": mode}
    schedule = await api.data("POST", "/testing/schedules", body, status=201)
    clock = ManualClock()
    bus = InProcessBus(clock=clock)
    consumers = Consumers(services=lambda: services, meters=Meters())
    pipeline = Pipeline(
        database=database,
        bus=bus,
        prices=Prices.load(None),
        clock=time.now,
        meters=Meters(),
        pools=(),
        owner="test",
        alone=True,
        given_up=consumers.given_up,
    )
    await bus.start((*pipeline.subscriptions(), *consumers.subscriptions()))
    yield Stage(api, services, database, bus, clock, bot, schedule["id"])
    await bus.stop(grace_seconds=1)


async def test_a_tick_becomes_a_run_as_the_schedule_says(stage: Stage, time: Time) -> None:
    await stage.bus.publish(await stage.fire())
    await stage.handled()
    (run,) = await stage.runs()
    assert (run["trigger"], run["scheduleId"], run["status"]) == ("scheduled", stage.schedule, "pending")
    assert (run["repeats"], run["tags"], run["scoreThreshold"]) == (2, ["nightly"], 80)
    assert run["progress"]["total"] == 4
    assert await stage.ticks() == [("started", run["id"], None)]
    schedule = await stage.api.data("GET", stage.path)
    assert (schedule["lastRunId"], schedule["lastRunStatus"]) == (run["id"], "pending")
    assert datetime.fromisoformat(schedule["lastRunAt"]) == time.now()
    assert schedule["nextRunAt"] == "2026-05-05T11:00:00.000Z"
    assert (await stage.api("GET", f"/testing/runs?scheduleId={uuid4()}")).json()["data"] == []


async def test_its_settings_are_those_of_the_schedule_as_it_is_then(stage: Stage) -> None:
    event = await stage.fire()
    mode = {"run": {"caseFilter": {"priority": "high"}, "agentPromptOverride": "two"}}
    await stage.api.data("PATCH", stage.path, {"mode": mode})
    await stage.api.data("PATCH", f"/integrations/{stage.bot}", {"model": "other"})
    await stage.bus.publish(event)
    await stage.handled()
    (run,) = await stage.runs()
    assert (run["progress"]["total"], run["model"], run["agentPromptSnapshot"]) == (1, "other", "two")
    assert (run["promptOverridden"], run["tags"]) == (True, [])


async def test_a_tick_becomes_one_run_however_often_it_is_heard_of(stage: Stage) -> None:
    event = await stage.fire()
    for _ in range(4):
        await stage.bus.publish(event)
    done = await asyncio.gather(*(stage.services.firings.fire(event) for _ in range(4)))
    await stage.handled()
    assert sum(one is Firing.STARTED for one in done) <= 1
    assert await stage.services.firings.fire(event) is Firing.KNOWN
    (run,) = await stage.runs()
    assert await stage.ticks() == [("started", run["id"], None)]


async def test_each_of_several_ticks_becomes_its_own_run(stage: Stage) -> None:
    events = [await stage.fire(PLANNED + timedelta(minutes=5 * n)) for n in range(5)]
    await asyncio.gather(*(stage.services.firings.fire(event) for event in events for _ in range(2)))
    runs = {run["id"] for run in await stage.runs()}
    assert len(runs) == 5
    assert {run for _, run, _ in await stage.ticks()} == runs


@pytest.mark.parametrize(
    ("limits", "waiting", "code"),
    [
        ({"balance_micro": 0}, "balance", "balance_exhausted"),
        ({"runs_per_minute": 0}, "quota", "too_many_requests"),
    ],
)
async def test_an_account_that_may_not_start_runs_puts_the_tick_off_and_creates_nothing(
    stage: Stage, limits: dict[str, int], waiting: str, code: str
) -> None:
    event = await stage.fire()
    await stage.limit(**limits)
    await stage.bus.publish(event)
    await stage.handled()
    ((status, run, reason),) = await stage.ticks()
    assert (status, run) == ("waiting", None)
    assert reason is not None
    assert reason.startswith(f"{code}: ")
    assert await stage.runs() == []
    schedule = await stage.api.data("GET", stage.path)
    assert (schedule["waitingFor"], schedule["lastRunId"]) == (waiting, None)
    assert datetime.fromisoformat(schedule["nextRunAt"]) == NEXT
    await stage.bus.publish(event)  # a duplicate of the first message: the tick waits now
    await stage.handled()
    assert await stage.runs() == []
    await stage.limit(balance_micro=None, runs_per_minute=None)
    await stage.bus.publish(await stage.again(event))
    await stage.handled()
    (started,) = await stage.runs()
    assert await stage.ticks() == [("started", started["id"], None)]
    assert (await stage.api.data("GET", stage.path))["waitingFor"] is None


async def test_a_tick_holds_the_place_that_the_scheduler_took_for_it(stage: Stage, time: Time) -> None:
    await stage.limit(runs_per_minute=2)
    event = await stage.fire(fired_at=time.now())
    stage_run = {"integrationId": stage.bot, "caseFilter": {}}
    await stage.api.data("POST", "/testing/runs", stage_run, status=201)
    await stage.api.problem("POST", "/testing/runs", stage_run, status=429)
    assert await stage.services.firings.fire(event) is Firing.STARTED
    await stage.api.problem("POST", "/testing/runs", stage_run, status=429)
    time.pass_(61)
    for _ in range(2):
        await stage.api.data("POST", "/testing/runs", stage_run, status=201)


async def test_a_tick_that_was_lost_long_ago_holds_no_place(stage: Stage, time: Time) -> None:
    await stage.limit(runs_per_minute=1)
    await stage.fire(fired_at=time.now() - timedelta(hours=2))
    run = {"integrationId": stage.bot, "caseFilter": {}}
    await stage.api.data("POST", "/testing/runs", run, status=201)


async def test_what_can_never_be_played_is_refused_with_its_reason(stage: Stage) -> None:
    event = await stage.fire()
    for one in (await stage.api("GET", "/testing/cases")).json()["data"]:
        await stage.api.data("PATCH", f"/testing/cases/{one['id']}", {"isActive": False})
    await stage.bus.publish(event)
    await stage.handled()
    ((status, run, reason),) = await stage.ticks()
    assert (status, run) == ("refused", None)
    assert reason == (
        "no_active_cases: integrationId: the integration has no active cases, so nothing would be tested; "
        "add or activate one"
    )
    assert await stage.runs() == []
    assert (await stage.api.data("GET", stage.path))["waitingFor"] is None


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ({"budgetCents": 100}, "price_unknown: mode.run.budgetMode: "),
        ({"caseFilter": {"category": "Немає"}}, "no_cases: mode.run.caseFilter: "),
        ({"pool": "gone"}, "invalid: mode.run.pool: "),
        ({"promptVersionId": str(uuid4())}, "not_found: "),
    ],
)
async def test_a_refusal_names_the_schedules_field(stage: Stage, run: dict[str, Any], reason: str) -> None:
    event = await stage.fire()
    async with stage.database.transaction() as unit:
        mode = {"kind": "case", "run": run}
        await unit.connection.execute(
            update(Schedule).where(Schedule.id == UUID(stage.schedule)).values(mode=mode)
        )
    assert await stage.services.firings.fire(event) is Firing.REFUSED
    ((status, _, said),) = await stage.ticks()
    assert status == "refused"
    assert said is not None
    assert said.startswith(reason)


@pytest.mark.parametrize("broke", [False, True])
async def test_a_schedule_that_was_switched_off_starts_nothing_more(stage: Stage, *, broke: bool) -> None:
    event = await stage.fire()
    await stage.api.data("POST", f"{stage.path}/toggle")
    if broke:
        await stage.limit(balance_micro=0)
    await stage.bus.publish(event)
    await stage.handled()
    ((status, _, reason),) = await stage.ticks()
    assert (status, reason) == (
        "refused",
        "switched_off: the schedule was switched off before its run started",
    )
    assert await stage.runs() == []
    assert (await stage.api.data("GET", stage.path))["nextRunAt"] is None


async def test_the_tick_of_a_deleted_schedule_starts_nothing(stage: Stage) -> None:
    event = await stage.fire()
    assert (await stage.api("DELETE", stage.path)).status_code == 204
    assert await stage.services.firings.fire(event) is Firing.KNOWN
    assert await stage.runs() == []


async def test_a_tick_starts_nothing_in_another_account_or_for_another_schedule(stage: Stage) -> None:
    event = await stage.fire()
    stranger = await stage.api.another("umbrella")
    foreign = event.model_copy(update={"account_id": stranger.caller.account_id})
    other = event.model_copy(update={"schedule_id": uuid4()})
    for wrong in (foreign, other):
        assert await stage.services.firings.fire(wrong) is Firing.KNOWN
    assert await stage.ticks() == [("fired", None, None)]


async def test_a_database_that_is_away_is_not_the_events_fault(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        monkeypatch.undo()
        raise StoreUnavailable("away")

    event = await stage.fire()
    monkeypatch.setattr(Firings, "fire", away)
    await stage.bus.publish(event)
    assert await stage.clock.next() == 5
    await stage.handled()
    assert len(await stage.runs()) == 1


async def test_a_message_that_is_given_up_refuses_its_tick(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    event = await stage.fire()
    monkeypatch.setattr(Firings, "_start", broken)
    await stage.bus.publish(event)
    for seconds in (5, 30):
        assert await stage.clock.next() == seconds
    await stage.handled()
    ((status, run, reason),) = await stage.ticks()
    assert (status, run) == ("refused", None)
    assert reason is not None
    assert reason.startswith("given_up: proctor.api.schedules gave the message up (retries_exhausted)")
    await stage.bus.publish_raw(
        exchange="proctor.events", key="schedule.fired", body=b"{}", message_id="m", correlation=""
    )
    await stage.handled()


async def test_what_was_fired_and_lost_with_the_process_is_asked_for_again(stage: Stage) -> None:
    await stage.services.firings.fire(await stage.fire())
    lost = await stage.fire(PLANNED + timedelta(days=1))
    await stage.fire(PLANNED + timedelta(days=2), status="waiting")
    async with stage.database.transaction() as unit:
        await unit.connection.execute(delete(OutboxRow))
    assert await stage.services.firings.resend() >= 1
    async with stage.database.transaction() as unit:
        rows = await outbox.take(unit, limit=1_000)
    events = [ScheduleFired.read(row.body.encode()) for row in rows if row.key == "schedule.fired"]
    assert [event for event in events if event.account_id == stage.api.caller.account_id] == [lost]


async def test_its_run_and_tick_are_written_together_or_not_at_all(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def torn(*_: Any, **__: Any) -> Any:
        monkeypatch.undo()
        raise StoreUnavailable("away")

    event = await stage.fire()
    monkeypatch.setattr("proctor_store.repositories.ticks.started", torn)
    with pytest.raises(StoreUnavailable):
        await stage.services.firings.fire(event)
    assert (await stage.runs(), await stage.ticks()) == ([], [("fired", None, None)])
    async with stage.database.reading() as unit:
        query = select(ScheduleTick.status).where(ScheduleTick.id == event.tick_id)
        assert (await unit.connection.execute(query)).scalar_one() == "fired"
    assert await stage.services.firings.fire(event) is Firing.STARTED
