"""Decides on schedules that have something to do, in one transaction from their claim to the outbox."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from proctor_chassis.clock import Clock
from proctor_contracts.ids import new_id
from proctor_contracts.messages import ScheduleFired
from proctor_contracts.schedules import TickStatus
from proctor_schedules.deciding import ASK_AGAIN
from proctor_store.repositories import outbox, pipeline, runs, schedules, ticks
from proctor_store.repositories.pipeline import AccountRow
from proctor_store.repositories.schedules import DueSchedule, OpenTick
from proctor_store.session import Database, StoreUnavailable, Unit

from .planning import NOT_STARTED, REASONS, Plan, plan
from .settings import SchedulerSettings
from .telling import Teller

__all__ = ["Ticking"]

MINUTE = timedelta(minutes=1)
PLACE_HELD = timedelta(hours=1)
"""How long a run that was asked for and is not there takes a place of its account's quota."""
MOST_ACCOUNTS = 500

log = logging.getLogger(__name__)


class Ticking:
    """Fires what is due; any number of replicas may, since the rows that one works on are locked.

    `wake_relay` is called when messages were written by a process that also sends them.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        teller: Teller,
        settings: SchedulerSettings,
        wake_relay: Callable[[], None] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._teller = teller
        self._settings = settings
        self._wake_relay = wake_relay
        self._side_by_side = asyncio.Semaphore(settings.accounts)

    async def look(self, *, thorough: bool) -> int:
        """Decide on all that is due, if `thorough` also on what waits; returns how many schedules that were.

        Raises:
            StoreUnavailable: when the database is away.
        """
        async with self._database.reading() as unit:
            now = await schedules.moment(unit, clock=self._clock.now())
            found = await schedules.accounts(
                unit, now=now, asked_before=_asked_before(now, thorough=thorough), limit=MOST_ACCOUNTS
            )
            if thorough:
                self._teller.waiting(await schedules.waiting(unit))
        looks = (self._account(account, thorough=thorough) for account in found)
        counts = 0
        for outcome in await asyncio.gather(*looks, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
            counts += outcome
        return counts

    async def _account(self, account_id: UUID, *, thorough: bool) -> int:
        """Decide on an account's schedules; what is wrong with them holds up no other account."""
        count, last = 0, None
        async with self._side_by_side:
            try:
                while True:
                    claimed = await self._settle(account_id, last, thorough=thorough)
                    count += len(claimed)
                    if len(claimed) < self._settings.batch:
                        break
                    last = claimed[-1]
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("schedule.account_failed", extra={"account": str(account_id)})
        return count

    async def _settle(
        self, account_id: UUID, after: DueSchedule | None, *, thorough: bool
    ) -> Sequence[DueSchedule]:
        async with self._database.transaction() as unit:
            now = await schedules.moment(unit, clock=self._clock.now())
            claimed = await schedules.claim(
                unit,
                account_id,
                now=now,
                asked_before=_asked_before(now, thorough=thorough),
                after=after,
                limit=self._settings.batch,
            )
            if claimed:
                account = (await pipeline.lock_accounts(unit, [account_id]))[account_id]
                plans = await self._plans(unit, account, claimed, now=now)
                await self._write(unit, claimed, plans, now=now)
        return claimed

    async def _plans(
        self, unit: Unit, account: AccountRow, claimed: Sequence[DueSchedule], *, now: datetime
    ) -> Sequence[Plan]:
        ids = [schedule.id for schedule in claimed]
        running = await schedules.running_since(unit, ids)
        opened: dict[UUID, list[OpenTick]] = {}
        for tick in await schedules.open_ticks(unit, ids):
            opened.setdefault(tick.schedule_id, []).append(tick)
        room = await _room(unit, account, now=now)
        plans = []
        for schedule in claimed:
            made = plan(
                schedule,
                opened.get(schedule.id, ()),
                running_since=running.get(schedule.id),
                spent=account.balance_micro is not None and account.balance_micro <= 0,
                room=room,
                now=now,
            )
            plans.append(made)
            if room is not None:
                room -= made.asks
        return plans

    async def _write(
        self, unit: Unit, claimed: Sequence[DueSchedule], plans: Sequence[Plan], *, now: datetime
    ) -> None:
        planned = list(zip(claimed, plans, strict=True))
        rows = {schedule.id: _row(schedule, made, now=now) for schedule, made in planned if made.new}
        kept = await schedules.add_ticks(unit, list(rows.values()))
        messages: list[ScheduleFired] = []
        changes: dict[UUID, dict[str, Any]] = {}
        for schedule, made in planned:
            row = rows.get(schedule.id)
            if row is not None and row["id"] in kept and row["status"] == TickStatus.FIRED:
                messages.append(_message(schedule, row["id"], row["planned_at"], fire=0))
            asked = (*made.again, *(() if made.released is None else (made.released,)))
            for tick in asked:
                messages.append(_message(schedule, tick.id, tick.planned_at, fire=tick.fires))
                changes[tick.id] = {"fires": tick.fires + 1, "asked_at": now}
            if made.released is not None:
                changes[made.released.id] |= {
                    "status": TickStatus.FIRED.value,
                    "fired_at": now,
                    "reason": None,
                }
            if made.held is not None:
                held, why = made.held
                changes[held.id] = {"reason": REASONS[why]}
            for tick in made.refused:
                changes[tick.id] = {"status": TickStatus.REFUSED.value, "reason": NOT_STARTED}
        await schedules.save_ticks(unit, changes)
        await schedules.save(unit, {schedule.id: made.columns for schedule, made in planned})
        await outbox.add(unit, map(outbox.Outgoing.of, messages), now=now)
        if messages and self._wake_relay is not None:
            unit.after_commit(self._wake_relay)
        new = frozenset(schedule for schedule, row in rows.items() if row["id"] in kept)
        unit.after_commit(lambda: self._teller.told(planned, new, now=now))


def _asked_before(now: datetime, *, thorough: bool) -> datetime | None:
    return now - ASK_AGAIN if thorough else None


async def _room(unit: Unit, account: AccountRow, *, now: datetime) -> int | None:
    """How many runs the account may still ask for: those of the last minute and those on their way count."""
    if account.runs_per_minute is None:
        return None
    started = await runs.started_since(unit, account.id, now - MINUTE)
    return (
        account.runs_per_minute
        - len(started)
        - await ticks.unstarted(unit, account.id, since=now - PLACE_HELD)
    )


def _row(schedule: DueSchedule, made: Plan, *, now: datetime) -> dict[str, Any]:
    assert made.new is not None  # noqa: S101 - only called for those
    tick, status, reason = made.new
    asked = now if status is TickStatus.FIRED else None
    return {
        "id": new_id(),
        "account_id": schedule.account_id,
        "schedule_id": schedule.id,
        "planned_at": tick.planned_at,
        "planned_local": tick.planned_local,
        "status": status.value,
        "fires": 1 if asked else 0,
        "missed": tick.missed,
        "fired_at": asked,
        "asked_at": asked,
        "reason": reason,
        "created_at": now,
    }


def _message(schedule: DueSchedule, tick_id: UUID, planned_at: datetime, *, fire: int) -> ScheduleFired:
    return ScheduleFired(
        account_id=schedule.account_id,
        schedule_id=schedule.id,
        tick_id=tick_id,
        planned_at=planned_at,
        fire=fire,
    )
