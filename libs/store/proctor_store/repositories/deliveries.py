"""Deliveries of alerts: claimed by whoever sends them, tried until they are over, every try a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import and_, func, insert, not_, or_, select, update

from proctor_store.padding import padded
from proctor_store.session import Unit
from proctor_store.tables import AlertDelivery, DeliveryAttempt, Integration

__all__ = [
    "PENDING",
    "AttemptRecord",
    "Claimed",
    "DeliveryRecord",
    "attempts_of",
    "claim",
    "create",
    "finish",
    "of_alerts",
    "oldest_pending",
    "redeliver",
]

PENDING = "pending"
ENVIRONMENT = "environment"
CANDIDATES = 200
"""Due deliveries looked at for each claim: behind a receiver that is full there may be many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRecord:
    """One receiver of an alert; `source` is `environment` or `integration`, `target` hides what is secret."""

    id: UUID
    account_id: UUID
    alert_id: UUID
    integration_id: UUID
    source: str
    target: str
    format: str
    body: str
    state: str
    tries: int
    next_attempt_at: datetime | None
    claimed_until: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def receiver(self) -> str:
        """Who is asked: what is slow for one delivery of it is slow for all."""
        return _receiver(self.source, self.integration_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One try: the receiver's status, or why there is none."""

    delivery_id: UUID
    number: int
    at: datetime
    duration_ms: int
    status: int | None
    error: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that is this process's to send, and the integration's own alerts as they are now."""

    delivery: DeliveryRecord
    alerts: Mapping[str, Any] | None


_DELIVERY = tuple(AlertDelivery.__table__.c[one.name] for one in fields(DeliveryRecord))
_ATTEMPT = tuple(DeliveryAttempt.__table__.c[one.name] for one in fields(AttemptRecord))


async def create(unit: Unit, delivery: DeliveryRecord) -> None:
    """Add a delivery."""
    await unit.connection.execute(insert(AlertDelivery).values(**asdict(delivery)))


async def claim(
    unit: Unit, *, now: datetime, until: datetime, most: int, each: int, busy: Mapping[str, int]
) -> Sequence[Claimed]:
    """Take due deliveries until a moment, the longest due first; another process skips them.

    At most `each` go to one receiver together with those that are `busy` (by `DeliveryRecord.receiver`), so
    that one that is slow holds up no other.
    """
    if most <= 0:
        return ()
    query = (
        select(AlertDelivery.id, AlertDelivery.source, AlertDelivery.integration_id)
        .where(
            AlertDelivery.state == PENDING,
            AlertDelivery.next_attempt_at <= now,
            or_(AlertDelivery.claimed_until.is_(None), AlertDelivery.claimed_until <= now),
            *_not_full({receiver for receiver, sending in busy.items() if sending >= each}),
        )
        .order_by(AlertDelivery.next_attempt_at, AlertDelivery.id)
        .limit(CANDIDATES)
        .with_for_update(skip_locked=True)
    )
    sending = Counter(dict(busy))
    taken: list[UUID] = []
    for delivery_id, source, integration_id in (await unit.connection.execute(query)).all():
        receiver = _receiver(source, integration_id)
        if len(taken) < most and sending[receiver] < each:
            sending[receiver] += 1
            taken.append(delivery_id)
    if not taken:
        return ()
    await unit.connection.execute(
        update(AlertDelivery).where(AlertDelivery.id.in_(taken)).values(claimed_until=until)
    )
    found = await unit.connection.execute(
        select(*_DELIVERY, Integration.alerts)
        .outerjoin(Integration, Integration.id == AlertDelivery.integration_id)
        .where(AlertDelivery.id.in_(taken))
        .order_by(AlertDelivery.next_attempt_at, AlertDelivery.id)
    )
    return [_claimed(dict(row)) for row in found.mappings()]


async def finish(
    unit: Unit,
    claimed: DeliveryRecord,
    attempt: AttemptRecord,
    *,
    state: str,
    target: str,
    next_attempt_at: datetime | None,
    now: datetime,
) -> int:
    """Keep a try and what follows from it; returns the try's number, counted over every redelivery.

    Whoever tried too slowly and lost the claim changes nothing but by having delivered.
    """
    row = AlertDelivery.__table__.c
    current = (
        await unit.connection.execute(
            select(row.claimed_until, row.tries).where(row.id == claimed.id).with_for_update()
        )
    ).first()
    if current is None:
        return attempt.number
    last = await unit.connection.scalar(
        select(func.max(DeliveryAttempt.number)).where(DeliveryAttempt.delivery_id == claimed.id)
    )
    number = (last or 0) + 1
    await unit.connection.execute(insert(DeliveryAttempt).values(**asdict(attempt) | {"number": number}))
    values: dict[str, Any] = {"tries": current.tries + 1, "target": target, "updated_at": now}
    if current.claimed_until == claimed.claimed_until or state == "delivered":
        values |= {"state": state, "next_attempt_at": next_attempt_at, "claimed_until": None}
    await unit.connection.execute(update(AlertDelivery).where(row.id == claimed.id).values(**values))
    return number


async def of_alerts(unit: Unit, alert_ids: Collection[UUID]) -> Mapping[UUID, Sequence[DeliveryRecord]]:
    """Read the deliveries of some alerts, by alert."""
    found: dict[UUID, list[DeliveryRecord]] = {one: [] for one in alert_ids}
    if not found:
        return found
    query = (
        select(*_DELIVERY)
        .where(AlertDelivery.alert_id.in_(padded(list(alert_ids))))
        .order_by(AlertDelivery.id)
    )
    for row in (await unit.connection.execute(query)).mappings():
        found[row["alert_id"]].append(DeliveryRecord(**row))
    return found


async def attempts_of(unit: Unit, delivery_ids: Collection[UUID]) -> Mapping[UUID, Sequence[AttemptRecord]]:
    """Read the tries of some deliveries, by delivery, in their order."""
    found: dict[UUID, list[AttemptRecord]] = {one: [] for one in delivery_ids}
    if not found:
        return found
    query = (
        select(*_ATTEMPT)
        .where(DeliveryAttempt.delivery_id.in_(padded(list(delivery_ids))))
        .order_by(DeliveryAttempt.delivery_id, DeliveryAttempt.number)
    )
    for row in (await unit.connection.execute(query)).mappings():
        found[row["delivery_id"]].append(AttemptRecord(**row))
    return found


async def redeliver(unit: Unit, account_id: UUID, delivery_id: UUID, *, now: datetime) -> bool:
    """Have a delivery of the account sent again, with all its tries; False when it is pending, or not there.

    It keeps its id and its bytes, by which a receiver knows that it comes again.
    """
    done = await unit.connection.execute(
        update(AlertDelivery)
        .where(
            AlertDelivery.id == delivery_id,
            AlertDelivery.account_id == account_id,
            AlertDelivery.state != PENDING,
        )
        .values(state=PENDING, tries=0, next_attempt_at=now, claimed_until=None, updated_at=now)
    )
    return done.rowcount == 1


async def oldest_pending(unit: Unit) -> datetime | None:
    """Say when the oldest delivery that is still to be made was written."""
    found: datetime | None = await unit.connection.scalar(
        select(AlertDelivery.created_at)
        .where(AlertDelivery.state == PENDING)
        .order_by(AlertDelivery.created_at)
        .limit(1)
    )
    return found


def _receiver(source: str, integration_id: UUID) -> str:
    return source if source == ENVIRONMENT else str(integration_id)


def _not_full(receivers: Collection[str]) -> list[Any]:
    where: list[Any] = []
    own = [UUID(one) for one in receivers if one != ENVIRONMENT]
    if ENVIRONMENT in receivers:
        where.append(AlertDelivery.source != ENVIRONMENT)
    if own:
        full = and_(AlertDelivery.source != ENVIRONMENT, AlertDelivery.integration_id.in_(padded(own)))
        where.append(not_(full))
    return where


def _claimed(row: dict[str, Any]) -> Claimed:
    alerts = row.pop("alerts")
    return Claimed(DeliveryRecord(**row), alerts)
