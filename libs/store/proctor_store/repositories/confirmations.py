"""Looks at runs that ask for a confirming rerun, as the writer of that rerun reads and answers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, update

from proctor_contracts.messages import RegressionDetected
from proctor_contracts.verdicts import RegressionVerdict
from proctor_store.session import Unit
from proctor_store.tables import RunLook

__all__ = ["Asked", "asked", "outstanding", "refused", "started"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A look that waits for its rerun, and since when."""

    run_id: UUID
    account_id: UUID
    since: datetime


async def asked(unit: Unit, run_id: UUID) -> Asked | None:
    """Lock a run's look if it still asks for a rerun that nobody has started or refused."""
    query = (
        select(RunLook.run_id, RunLook.account_id, RunLook.created_at)
        .where(RunLook.run_id == run_id, RunLook.state == "asked", RunLook.confirming_run_id.is_(None))
        .with_for_update()
    )
    found = (await unit.connection.execute(query)).first()
    return None if found is None else Asked(*found)


async def started(unit: Unit, run_id: UUID, confirming_run_id: UUID, *, now: datetime) -> None:
    """Say which run confirms a look."""
    values = {"confirming_run_id": confirming_run_id, "updated_at": now}
    await unit.connection.execute(update(RunLook).where(RunLook.run_id == run_id).values(**values))


async def refused(unit: Unit, run_id: UUID, reason: str, *, now: datetime) -> None:
    """Say why a look cannot be confirmed, so that it is told as it is."""
    values = {"state": "refused", "reason": reason, "updated_at": now}
    await unit.connection.execute(update(RunLook).where(RunLook.run_id == run_id).values(**values))


async def outstanding(unit: Unit) -> Sequence[RegressionDetected]:
    """Write again the messages of all looks that ask for a rerun which nobody has started or refused."""
    query = (
        select(RunLook.run_id, RunLook.account_id, RunLook.integration_id, RunLook.confirm)
        .where(RunLook.state == "asked", RunLook.confirming_run_id.is_(None))
        .order_by(RunLook.run_id)
    )
    return [
        RegressionDetected(
            run_id=row.run_id,
            account_id=row.account_id,
            integration_id=row.integration_id,
            verdict=RegressionVerdict.SUSPECTED,
            categories=(),
            confirm=tuple(row.confirm),
        )
        for row in await unit.connection.execute(query)
    ]
