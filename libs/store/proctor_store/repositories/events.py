"""Numbered events of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select

from proctor_store.session import Unit
from proctor_store.tables import RunEventRow

__all__ = ["NewEvent", "StoredEvent", "after", "append", "last_seq"]


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that has its number."""

    run_id: UUID
    seq: int
    event: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as a client reads it."""

    seq: int
    event: str
    data: dict[str, Any]
    at: datetime


async def append(unit: Unit, events: Sequence[NewEvent], *, now: datetime) -> None:
    """Write events whose numbers were taken under their run's row lock."""
    if events:
        await unit.connection.execute(
            insert(RunEventRow),
            [{"run_id": e.run_id, "seq": e.seq, "event": e.event, "data": e.data, "at": now} for e in events],
        )


async def after(unit: Unit, run_id: UUID, seq: int, *, limit: int) -> Sequence[StoredEvent]:
    """Read the events behind `seq`, oldest first."""
    query = (
        select(RunEventRow.seq, RunEventRow.event, RunEventRow.data, RunEventRow.at)
        .where(RunEventRow.run_id == run_id, RunEventRow.seq > seq)
        .order_by(RunEventRow.seq)
        .limit(limit)
    )
    return [StoredEvent(*row) for row in await unit.connection.execute(query)]


async def last_seq(unit: Unit, run_id: UUID) -> int:
    """The number of the newest event, 0 for none."""
    query = select(func.max(RunEventRow.seq)).where(RunEventRow.run_id == run_id)
    return (await unit.connection.execute(query)).scalar_one() or 0
