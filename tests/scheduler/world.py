"""A database with accounts and schedules, a clock that a test moves, and the scheduler's parts upon them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select, update

from proctor_chassis.clock import Clock
from proctor_chassis.metrics import Meters
from proctor_contracts.ids import new_id
from proctor_contracts.messages import ScheduleFired
from proctor_scheduler.settings import SchedulerSettings
from proctor_scheduler.telling import Teller
from proctor_scheduler.ticking import Ticking
from proctor_schedules.cron import read_cron
from proctor_schedules.times import next_after
from proctor_schedules.zones import read_zone
from proctor_store.repositories import accounts, ticks
from proctor_store.repositories.accounts import AccountRecord
from proctor_store.session import Database
from proctor_store.tables import Account, Integration, OutboxRow, Run, Schedule, ScheduleTick
from tests.store.rows import new_run

__all__ = ["Counts", "World", "new_schedule"]

SETTINGS = SchedulerSettings()


@dataclass
class Counts:
    """An instrument that remembers by its labels."""

    values: Counter[str] = field(default_factory=Counter)
    last: float | None = None

    def add(self, amount: float = 1, **labels: str) -> None:
        self.values["/".join(labels.values())] += int(amount)

    def set(self, value: float, **_labels: str) -> None:
        self.last = value

    def observe(self, value: float, **_labels: str) -> None:
        self.last = value


async def new_schedule(
    database: Database,
    account_id: UUID,
    *,
    since: datetime,
    cron: str = "0 * * * *",
    zone: str = "UTC",
    **more: Any,
) -> UUID:
    """A schedule of an integration of its own, counted from a moment."""
    integration, schedule = new_id(), new_id()
    async with database.transaction() as unit:
        await unit.connection.execute(
            insert(Integration).values(
                id=integration,
                account_id=account_id,
                name=str(integration),
                agent_prompt="",
                provider="http",
                created_at=since,
                updated_at=since,
            )
        )
        values = {
            "id": schedule,
            "account_id": account_id,
            "integration_id": integration,
            "name": "nightly",
            "cron_expression": cron,
            "timezone": zone,
            "mode": {"kind": "case"},
            "notifications": {},
            "is_active": True,
            "counted_from": since,
            "next_run_at": next_after(read_cron(cron), read_zone(zone), since),
            "created_at": since,
            "updated_at": since,
        }
        await unit.connection.execute(insert(Schedule).values(**(values | more)))
    return schedule


@dataclass
class World:
    """The scheduler's decisions on a database, without its loop."""

    database: Database
    clock: Clock
    decided: Counts = field(default_factory=Counts)
    lateness: Counts = field(default_factory=Counts)
    waiting: Counts = field(default_factory=Counts)
    woken: int = 0

    def ticking(self, **settings: Any) -> Ticking:
        meters = Meters(
            schedule_ticks=self.decided,
            schedule_lateness_seconds=self.lateness,
            schedules_waiting=self.waiting,
        )
        return Ticking(
            database=self.database,
            clock=self.clock,
            teller=Teller(meters=meters),
            settings=replace(SETTINGS, **settings),
            wake_relay=self._wake,
        )

    async def look(self, *, thorough: bool = True) -> int:
        return await self.ticking().look(thorough=thorough)

    async def account(self, **limits: int | None) -> UUID:
        account = AccountRecord(
            id=(new := new_id()),
            name=str(new),
            balance_micro=limits.get("balance_micro"),
            max_concurrent_cases=None,
            runs_per_minute=limits.get("runs_per_minute"),
            created_at=self.clock.now(),
        )
        async with self.database.transaction() as unit:
            await accounts.create(unit, account)
        return new

    async def limit(self, account_id: UUID, **limits: int | None) -> None:
        async with self.database.transaction() as unit:
            await unit.connection.execute(update(Account).where(Account.id == account_id).values(**limits))

    async def schedule(self, account_id: UUID | None = None, **more: Any) -> UUID:
        if account_id is None:
            account_id = await self.account()
        more.setdefault("since", self.clock.now())
        return await new_schedule(self.database, account_id, **more)

    async def row(self, schedule_id: UUID) -> Any:
        async with self.database.reading() as unit:
            query = select(*Schedule.__table__.columns).where(Schedule.id == schedule_id)
            return (await unit.connection.execute(query)).one()

    async def ticks(self, schedule_id: UUID) -> list[Any]:
        async with self.database.reading() as unit:
            query = (
                select(*ScheduleTick.__table__.columns)
                .where(ScheduleTick.schedule_id == schedule_id)
                .order_by(ScheduleTick.planned_at)
            )
            return list((await unit.connection.execute(query)).all())

    async def statuses(self, schedule_id: UUID) -> list[str]:
        return [tick.status for tick in await self.ticks(schedule_id)]

    async def messages(self) -> list[ScheduleFired]:
        async with self.database.reading() as unit:
            query = select(OutboxRow.body).where(OutboxRow.key == "schedule.fired").order_by(OutboxRow.id)
            found = (await unit.connection.execute(query)).scalars()
            return [ScheduleFired.read(body.encode()) for body in found]

    async def started(self, schedule_id: UUID, *, status: str = "running") -> UUID:
        """What the API does with the schedule's fired tick: it starts a run."""
        row = await self.row(schedule_id)
        async with self.database.transaction() as unit:
            run = await new_run(
                unit,
                account_id=row.account_id,
                schedule_id=schedule_id,
                status=status,
                created_at=self.clock.now(),
            )
            (tick,) = [tick for tick in await self.ticks(schedule_id) if tick.status == "fired"]
            await ticks.started(unit, schedule_id, tick.id, run, now=self.clock.now())
        return run

    async def ended(self, run_id: UUID, *, status: str = "completed") -> None:
        async with self.database.transaction() as unit:
            await unit.connection.execute(update(Run).where(Run.id == run_id).values(status=status))

    async def change(self, schedule_id: UUID, **columns: Any) -> None:
        async with self.database.transaction() as unit:
            await unit.connection.execute(
                update(Schedule).where(Schedule.id == schedule_id).values(**columns)
            )

    def pass_(self, **time: float) -> datetime:
        """Let time pass; says what it is then."""
        self.clock.advance(timedelta(**time).total_seconds())  # type: ignore[attr-defined]  # a manual clock
        return self.clock.now()

    def _wake(self) -> None:
        self.woken += 1
