"""Who does a piece of periodic work; the database's row decides, so that one replica does it at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import or_, update

from proctor_store.inserting import insert_for
from proctor_store.session import Unit
from proctor_store.tables import Claim

__all__ = ["claim"]


async def claim(unit: Unit, name: str, *, owner: str, now: datetime, lease: timedelta) -> bool:
    """Take or keep the work `name` until `now + lease`; False when another owner holds it."""
    await unit.connection.execute(
        insert_for(unit.dialect, Claim)
        .values(name=name, owner=owner, until=now)
        .on_conflict_do_nothing(index_elements=["name"])
    )
    taken = await unit.connection.execute(
        update(Claim)
        .where(Claim.name == name, or_(Claim.owner == owner, Claim.until <= now))
        .values(owner=owner, until=now + lease)
    )
    return taken.rowcount == 1
