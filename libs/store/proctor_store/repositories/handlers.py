"""Handlers: the tools of an integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert, select, update

from proctor_store.conflicts import conflicts
from proctor_store.session import Unit
from proctor_store.tables import Handler

__all__ = ["HandlerRecord", "change", "create", "get", "names", "of_integration", "remove"]

_TAKEN = {"integration_id_name": "name", "handlers.name": "name"}
_COLUMNS = (
    Handler.id,
    Handler.account_id,
    Handler.integration_id,
    Handler.name,
    Handler.description,
    Handler.url,
    Handler.method,
    Handler.headers,
    Handler.body,
    Handler.parameters_schema,
    Handler.is_side_effect,
    Handler.effect,
    Handler.created_at,
    Handler.updated_at,
)


@dataclass(frozen=True, slots=True)
class HandlerRecord:
    """A handler; `headers` and `effect` are the wire form, with secrets as references."""

    id: UUID
    account_id: UUID
    integration_id: UUID
    name: str
    description: str | None
    url: str
    method: str
    headers: dict[str, Any]
    body: Any
    parameters_schema: dict[str, Any] | None
    is_side_effect: bool | None
    effect: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime


async def create(unit: Unit, handlers: Sequence[HandlerRecord]) -> None:
    """Add handlers.

    Raises:
        Duplicate: when the integration has one of this name.
        Vanished: when the integration is gone.
    """
    if not handlers:
        return
    with conflicts(_TAKEN):
        await unit.connection.execute(insert(Handler), [asdict(handler) for handler in handlers])


async def of_integration(unit: Unit, integration_id: UUID) -> tuple[HandlerRecord, ...]:
    """Read an integration's handlers, newest first."""
    query = select(*_COLUMNS).where(Handler.integration_id == integration_id).order_by(Handler.id.desc())
    found = await unit.connection.execute(query)
    return tuple(HandlerRecord(**row) for row in found.mappings())


async def names(unit: Unit, integration_id: UUID) -> tuple[str, ...]:
    """List the names of an integration's handlers."""
    query = select(Handler.name).where(Handler.integration_id == integration_id).order_by(Handler.name)
    return tuple((await unit.connection.execute(query)).scalars())


async def get(unit: Unit, account_id: UUID, integration_id: UUID, handler_id: UUID) -> HandlerRecord | None:
    """Read one handler of an integration of the account."""
    query = select(*_COLUMNS).where(
        Handler.id == handler_id,
        Handler.integration_id == integration_id,
        Handler.account_id == account_id,
    )
    found = (await unit.connection.execute(query)).mappings().first()
    return None if found is None else HandlerRecord(**found)


async def change(unit: Unit, handler_id: UUID, values: Mapping[str, Any]) -> None:
    """Set some columns.

    Raises:
        Duplicate: when the integration has another one of this name.
    """
    with conflicts(_TAKEN):
        await unit.connection.execute(update(Handler).where(Handler.id == handler_id).values(**values))


async def remove(unit: Unit, integration_id: UUID, handler_ids: Sequence[UUID]) -> int:
    """Delete handlers of an integration; how many there were."""
    if not handler_ids:
        return 0
    done = await unit.connection.execute(
        delete(Handler).where(Handler.integration_id == integration_id, Handler.id.in_(handler_ids))
    )
    return int(done.rowcount)
