"""Messages written in the transaction that decided them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, insert, select

from proctor_contracts.messages import Message, RunMessage
from proctor_contracts.topology import JOBS
from proctor_store.padding import padded
from proctor_store.session import Unit
from proctor_store.tables import OutboxDeadRow, OutboxRow

__all__ = ["Outgoing", "Waiting", "add", "bury", "count", "drop_run", "holds", "remove", "take"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message on its way into the outbox."""

    run_id: UUID | None
    exchange: str
    key: str
    message_id: str
    body: str

    @classmethod
    def of(cls, message: Message) -> Outgoing:
        """Write a message down as it will travel."""
        return cls(
            message.run_id if isinstance(message, RunMessage) else None,
            message.exchange.name,
            message.key(),
            message.id(),
            message.model_dump_json(exclude_none=True),
        )


@dataclass(frozen=True, slots=True)
class Waiting(Outgoing):
    """A message in the outbox."""

    row: int


async def add(unit: Unit, messages: Iterable[Outgoing], *, now: datetime) -> int:
    """Write messages; they leave after the commit."""
    rows = [
        {
            "run_id": m.run_id,
            "exchange": m.exchange,
            "key": m.key,
            "message_id": m.message_id,
            "body": m.body,
            "created_at": now,
        }
        for m in messages
    ]
    if rows:
        await unit.connection.execute(insert(OutboxRow), rows)
    return len(rows)


async def take(unit: Unit, *, limit: int) -> Sequence[Waiting]:
    """Lock the oldest waiting messages; another relay skips them."""
    query = (
        select(
            OutboxRow.run_id,
            OutboxRow.exchange,
            OutboxRow.key,
            OutboxRow.message_id,
            OutboxRow.body,
            OutboxRow.id,
        )
        .order_by(OutboxRow.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [Waiting(*row) for row in await unit.connection.execute(query)]


async def remove(unit: Unit, rows: Sequence[int]) -> None:
    """Forget messages that the broker has confirmed."""
    if rows:
        await unit.connection.execute(delete(OutboxRow).where(OutboxRow.id.in_(padded(rows))))


async def bury(unit: Unit, message: Waiting, *, reason: str, now: datetime) -> None:
    """Keep a message that can never be published, with the reason."""
    await unit.connection.execute(
        insert(OutboxDeadRow).values(
            run_id=message.run_id,
            exchange=message.exchange,
            key=message.key,
            message_id=message.message_id,
            body=message.body,
            reason=reason,
            created_at=now,
        )
    )
    await remove(unit, [message.row])


async def drop_run(unit: Unit, run_id: UUID) -> None:
    """Forget the jobs of a run that have not left yet; what others must hear of it stays.

    Jobs that a relay is sending at this moment are skipped, since waiting for the broker would hold up a
    cancel; workers drop them.
    """
    jobs = (
        select(OutboxRow.id)
        .where(OutboxRow.run_id == run_id, OutboxRow.exchange == JOBS.name)
        .with_for_update(skip_locked=True)
    )
    await unit.connection.execute(delete(OutboxRow).where(OutboxRow.id.in_(jobs)))


async def holds(unit: Unit, run_id: UUID, message_id: str) -> bool:
    """Whether a message of a run is still waiting to leave."""
    query = select(OutboxRow.id).where(OutboxRow.run_id == run_id, OutboxRow.message_id == message_id)
    return (await unit.connection.execute(query.limit(1))).first() is not None


async def count(unit: Unit) -> int:
    """Count the waiting messages."""
    return (await unit.connection.execute(select(func.count()).select_from(OutboxRow))).scalar_one()
