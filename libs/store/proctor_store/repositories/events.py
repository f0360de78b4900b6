"""Numbered events of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, insert, select

from proctor_store.session import Unit
from proctor_store.tables import RunEventRow

__all__ = ["NewEvent", "StoredEvent", "after", "append"]

# Built once: whoever follows a run asks this for every batch of its results.
_AFTER = (
    select(RunEventRow.seq, RunEventRow.event, RunEventRow.data, RunEventRow.at)
    .where(RunEventRow.run_id == bindparam("run"), RunEventRow.seq > bindparam("seq"))
    .order_by(RunEventRow.seq)
    .limit(bindparam("limit"))
)


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
    rows = await unit.connection.execute(_AFTER, {"run": run_id, "seq": seq, "limit": limit})
    return [StoredEvent(*row) for row in rows]
