"""What becomes of a tick once its run was asked for; whoever writes here holds the schedule's lock.

A tick is `fired` when the message that asks for its run was written. It is then `started`, once; or `refused`
for good; or put off: it is `waiting` again, and the scheduler fires the same tick once more when the account
may start runs. When its schedule is due next is not touched by any of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select, update

from proctor_contracts.messages import ScheduleFired
from proctor_contracts.schedules import TickStatus, Waiting
from proctor_store.session import Unit
from proctor_store.tables import Schedule, ScheduleTick

__all__ = ["fired", "outstanding", "put_off", "refused", "started", "unstarted"]


async def fired(unit: Unit, schedule_id: UUID, tick_id: UUID) -> bool:
    """Lock a tick if it is to be started now; False when it is not, or no more."""
    query = (
        select(ScheduleTick.id)
        .where(
            ScheduleTick.id == tick_id,
            ScheduleTick.schedule_id == schedule_id,
            ScheduleTick.status == TickStatus.FIRED.value,
        )
        .with_for_update()
    )
    return (await unit.connection.execute(query)).first() is not None


async def started(unit: Unit, schedule_id: UUID, tick_id: UUID, run_id: UUID, *, now: datetime) -> None:
    """Say which run a tick became."""
    values = {"status": TickStatus.STARTED.value, "run_id": run_id, "reason": None}
    await unit.connection.execute(update(ScheduleTick).where(ScheduleTick.id == tick_id).values(**values))
    await unit.connection.execute(
        update(Schedule)
        .where(Schedule.id == schedule_id)
        .values(last_run_id=run_id, last_run_at=now, last_run_status=None)
    )


async def refused(unit: Unit, schedule_id: UUID, tick_id: UUID, reason: str) -> None:
    """Say why a tick can never be played; the schedule goes on with its next one."""
    await _end(unit, schedule_id, tick_id, TickStatus.REFUSED, reason)


async def put_off(unit: Unit, schedule_id: UUID, tick_id: UUID, *, waiting: Waiting, reason: str) -> None:
    """Have a tick fired again later, and the schedule say what it waits for.

    Only one tick of a schedule waits at a time: when the next one already does, this one is passed over.
    """
    if await _waits(unit, schedule_id):
        await _end(unit, schedule_id, tick_id, TickStatus.MISSED, reason)
        return
    values = {"status": TickStatus.WAITING.value, "reason": reason}
    await unit.connection.execute(update(ScheduleTick).where(ScheduleTick.id == tick_id).values(**values))
    await unit.connection.execute(
        update(Schedule).where(Schedule.id == schedule_id).values(waiting_for=waiting.value)
    )


async def unstarted(unit: Unit, account_id: UUID, *, since: datetime) -> int:
    """Count an account's ticks that were fired since a moment and have no run yet: their places are taken."""
    query = (
        select(func.count())
        .select_from(ScheduleTick)
        .where(
            ScheduleTick.account_id == account_id,
            ScheduleTick.fired_at > since,
            ScheduleTick.status == TickStatus.FIRED.value,
        )
    )
    return (await unit.connection.execute(query)).scalar_one()


async def outstanding(unit: Unit) -> Sequence[ScheduleFired]:
    """Write again the messages of all ticks that were fired and have no run yet, oldest first."""
    query = (
        select(ScheduleTick.account_id, ScheduleTick.schedule_id, ScheduleTick.id, ScheduleTick.planned_at)
        .where(ScheduleTick.status == TickStatus.FIRED.value)
        .order_by(ScheduleTick.id)
    )
    return [
        ScheduleFired(account_id=row[0], schedule_id=row[1], tick_id=row[2], planned_at=row[3])
        for row in await unit.connection.execute(query)
    ]


async def _waits(unit: Unit, schedule_id: UUID) -> bool:
    query = select(ScheduleTick.id).where(
        ScheduleTick.schedule_id == schedule_id, ScheduleTick.status == TickStatus.WAITING.value
    )
    return (await unit.connection.execute(query.limit(1))).first() is not None


async def _end(unit: Unit, schedule_id: UUID, tick_id: UUID, status: TickStatus, reason: str) -> None:
    values = {"status": status.value, "reason": reason}
    await unit.connection.execute(
        update(ScheduleTick)
        .where(ScheduleTick.id == tick_id, ScheduleTick.schedule_id == schedule_id)
        .values(**values)
    )
