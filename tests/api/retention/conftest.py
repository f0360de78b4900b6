"""Retention on the API's database: a clock that tests move, and pauses that take no time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, select, text, update

from proctor_api.retention.ages import Ages
from proctor_api.retention.archive import Archive
from proctor_api.retention.settings import RetentionSettings
from proctor_api.retention.worker import Retention
from proctor_api.wiring import Services
from proctor_chassis.clock import Timer
from proctor_chassis.metrics import Meters
from proctor_store.session import Database, Unit
from proctor_store.tables import ResultPhase, Run, RunEventRow, TestResult
from tests.api.conftest import Api, Time, case
from tests.support.platform import Counted

DAY = timedelta(days=1)


class Paced:
    """A `Clock` on a test's time; a pause is noted and over at once."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self.pauses: list[float] = []

    def now(self) -> datetime:
        return self._time.now()

    def monotonic(self) -> float:
        return self._time.monotonic()

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, call)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


class Kept:
    """An archive that remembers what it was given, and fails as it is told."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.tried: list[str] = []
        self.fails: Callable[[str], Exception | None] = lambda _name: None

    async def store(self, name: str, parts: AsyncIterator[bytes]) -> None:
        self.tried.append(name)
        if (error := self.fails(name)) is not None:
            raise error
        self.files[name] = b"".join([part async for part in parts])


class Told:
    """What retention counted."""

    def __init__(self) -> None:
        self.runs, self.rows, self.exports, self.overdue = Counted(), Counted(), Counted(), Counted()

    @property
    def meters(self) -> Meters:
        return Meters(
            retention_runs=self.runs,
            retention_rows=self.rows,
            retention_exports=self.exports,
            retention_overdue_seconds=self.overdue,
        )


class House:
    """An account with runs of any age, and the retention that looks after them."""

    def __init__(self, *, api: Api, database: Database, services: Services, time: Time) -> None:
        self.api = api
        self.database = database
        self.services = services
        self.time = time
        self.clock = Paced(time)
        self.told = Told()
        self.bot = ""

    def retention(
        self,
        *,
        archive: Archive | None = None,
        owner: str = "one",
        ages: Ages | None = None,
        database_ahead: timedelta = timedelta(),
    ) -> Retention:
        async def moment(_unit: Unit, *, clock: datetime) -> datetime:
            return clock + database_ahead

        return Retention(
            database=self.database,
            runs=self.services.runs,
            results=self.services.results,
            settings=RetentionSettings(ages=ages or Ages(), archive=archive),
            clock=self.clock,
            meters=self.told.meters,
            owner=owner,
            moment=moment,
        )

    async def run(
        self, *, status: str = "completed", age: float = 31, schedule_id: UUID | None = None, **more: Any
    ) -> UUID:
        """A run that ended so many days ago, with what a runner said of each of its cases."""
        body = {"integrationId": self.bot, "caseFilter": {}} | more
        started = await self.api.data("POST", "/testing/runs", body, status=201)
        run = UUID(started["id"])
        if schedule_id is not None:
            async with self.database.transaction() as unit:
                await unit.connection.execute(
                    update(Run).where(Run.id == run).values(schedule_id=schedule_id)
                )
        await self.end(run, status=status, age=age)
        return run

    async def end(self, run: UUID, *, status: str = "completed", age: float = 31) -> None:
        """Let a run have ended so many days ago."""
        moment = self.time.now() - age * DAY
        ended = {"status": status, "completed_at": moment, "remaining": 0, "event_seq": 1}
        async with self.database.transaction() as unit:
            await unit.connection.execute(update(Run).where(Run.id == run).values(ended))
            done = {"status": "passed", "stage": "done", "first_status": "passed", "attempt": 1}
            await unit.connection.execute(
                update(TestResult)
                .where(TestResult.run_id == run)
                .values(done | {"history": [["passed", 100]], "score": 100, "completed_at": moment})
            )
            query = select(TestResult.id).where(TestResult.run_id == run)
            for result in (await unit.connection.execute(query)).scalars().all():
                said = {"transcript": [{"role": "agent", "content": "Вітаю\n«вас»"}], "durationMs": 5}
                row = {"result_id": result, "attempt": 1, "phase": "executed", "run_id": run}
                await unit.connection.execute(insert(ResultPhase), [row | {"payload": said}])
            event = {"run_id": run, "seq": 1, "event": "run.completed", "data": {}, "at": moment}
            await unit.connection.execute(insert(RunEventRow), [event])

    async def ids(self) -> set[UUID]:
        """The runs that have a row."""
        async with self.database.reading() as unit:
            return set((await unit.connection.execute(select(Run.id))).scalars())

    async def gone(self, run: UUID) -> bool:
        """Whether users see a run no more."""
        return (await self.api("GET", f"/testing/runs/{run}")).status_code == 404


@pytest.fixture
async def house(api: Api, database: Database, services: Services, time: Time) -> House:
    if database.dialect == "postgresql":
        # Retention looks at all accounts, and the module's tests share a database.
        async with database.transaction() as unit:
            await unit.connection.execute(text("DELETE FROM test_runs"))
            await unit.connection.execute(text("DELETE FROM claims"))
    house = House(api=api, database=database, services=services, time=time)
    house.bot = await api.integration()
    cases = [case(name=name, ref=name) for name in "abc"]
    await api.data("POST", "/testing/cases/bulk", {"integrationId": house.bot, "cases": cases})
    return house
