"""Handlers: the tools of an integration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, not_found, too_large
from proctor_contracts.effects import HandlerEffect
from proctor_contracts.endpoint import SecretRef
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_contracts.schemas.integrations import HandlerCreate, HandlerPatch, HandlerView
from proctor_store.conflicts import Duplicate
from proctor_store.repositories import handlers
from proctor_store.repositories.handlers import HandlerRecord
from proctor_store.session import Database

from .integrations import integration_of

__all__ = ["Handlers"]

TOGETHER_LIMIT = 256 * 1024
_NOT_NULL = {"name": "name", "url": "url", "method": "method", "headers": "headers"}
_CONTENT = (
    "name",
    "description",
    "url",
    "method",
    "headers",
    "body",
    "parameters_schema",
    "is_side_effect",
    "effect",
)


class Handlers:
    """Creates, reads, changes and deletes the handlers of an integration."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def list(self, caller: Caller, integration_id: UUID) -> Listing[HandlerView]:
        """List them, newest first; together they are small, so there is one page.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            await integration_of(unit, caller, integration_id)
            found = await handlers.of_integration(unit, integration_id)
        views = tuple(_view(record) for record in found)
        return Listing[HandlerView](data=views, meta=Meta(total=len(views), take=len(views)))

    async def create(self, caller: Caller, integration_id: UUID, body: HandlerCreate) -> HandlerView:
        """Add a handler.

        Raises:
            ApiError: 400, 404, 409 for a name taken, 413 when all handlers together are too large.
        """
        record = self._new(caller, integration_id, body)
        try:
            async with self._database.transaction() as unit:
                await integration_of(unit, caller, integration_id, lock=True)
                _check_size([*await handlers.of_integration(unit, integration_id), record])
                await handlers.create(unit, [record])
        except Duplicate as error:
            raise _taken(error, record.name) from error
        return _view(record)

    async def replace(
        self, caller: Caller, integration_id: UUID, bodies: Sequence[HandlerCreate]
    ) -> tuple[HandlerView, ...]:
        """Make the integration's handlers exactly these, matched by name; the answer keeps their order.

        Raises:
            ApiError: 400, 404, 409 for a name given twice, 413.
        """
        wanted = [self._new(caller, integration_id, body) for body in bodies]
        _refuse_repeats(wanted)
        _check_size(wanted)
        async with self._database.transaction() as unit:
            await integration_of(unit, caller, integration_id, lock=True)
            there = {record.name: record for record in await handlers.of_integration(unit, integration_id)}
            result: list[HandlerRecord] = []
            added: list[HandlerRecord] = []
            for record in wanted:
                found = there.pop(record.name, None)
                if found is None:
                    added.append(record)
                    result.append(record)
                    continue
                kept = replace(record, id=found.id, created_at=found.created_at)
                if changes := _changes(found, kept):
                    await handlers.change(unit, found.id, {**changes, "updated_at": kept.updated_at})
                    result.append(kept)
                else:
                    result.append(found)
            await handlers.remove(unit, integration_id, [record.id for record in there.values()])
            await handlers.create(unit, added)
        return tuple(_view(record) for record in result)

    async def patch(
        self, caller: Caller, integration_id: UUID, handler_id: UUID, body: HandlerPatch
    ) -> HandlerView:
        """Change the named fields; an explicit null clears.

        Raises:
            ApiError: 400, 404, 409 or 413.
        """
        named = {name: getattr(body, name) for name in body.model_fields_set}
        cleared = [field for name, field in _NOT_NULL.items() if name in named and named[name] is None]
        if cleared:
            raise bad_request(FieldProblem(path=field, message="cannot be null") for field in cleared)
        if "headers" in named:
            named["headers"] = _headers(named["headers"])
        if "effect" in named:
            named["effect"] = _effect(named["effect"])
        try:
            async with self._database.transaction() as unit:
                await integration_of(unit, caller, integration_id, lock=True)
                found = await handlers.get(unit, caller.account_id, integration_id, handler_id)
                if found is None:
                    raise not_found("handler")
                wanted = replace(found, **named)
                _check(wanted)
                if not (changes := _changes(found, wanted)):
                    return _view(found)
                others = await handlers.of_integration(unit, integration_id)
                _check_size([wanted, *(record for record in others if record.id != handler_id)])
                wanted = replace(wanted, updated_at=self._clock())
                await handlers.change(unit, handler_id, {**changes, "updated_at": wanted.updated_at})
        except Duplicate as error:
            raise _taken(error, str(named.get("name"))) from error
        return _view(wanted)

    async def delete(self, caller: Caller, integration_id: UUID, handler_id: UUID) -> None:
        """Delete one.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            await integration_of(unit, caller, integration_id)
            if not await handlers.remove(unit, integration_id, [handler_id]):
                raise not_found("handler")

    def _new(self, caller: Caller, integration_id: UUID, body: HandlerCreate) -> HandlerRecord:
        now = self._clock()
        record = HandlerRecord(
            id=new_id(),
            account_id=caller.account_id,
            integration_id=integration_id,
            name=body.name,
            description=body.description,
            url=body.url,
            method=body.method,
            headers=_headers(body.headers),
            body=body.body,
            parameters_schema=body.parameters_schema,
            is_side_effect=body.is_side_effect,
            effect=_effect(body.effect),
            created_at=now,
            updated_at=now,
        )
        _check(record)
        return record


def _headers(headers: Mapping[str, str | SecretRef]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str) else value.model_dump(mode="json")
        for name, value in headers.items()
    }


def _effect(effect: HandlerEffect | None) -> dict[str, Any] | None:
    return None if effect is None else effect.model_dump(mode="json", by_alias=True)


def _check(record: HandlerRecord) -> None:
    """Refuse a parameters schema that is no JSON Schema; `url` is checked again where it is called."""
    if record.parameters_schema is None:
        return
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - slow to import, seldom needed

    try:
        Draft202012Validator.check_schema(record.parameters_schema)
    except SchemaError as error:
        where = ".".join(["parametersSchema", *(str(step) for step in error.absolute_path)])
        message = f"is not a JSON Schema: {error.message[:300]}"
        raise bad_request([FieldProblem(path=where, message=message)]) from error
    if record.parameters_schema.get("type", "object") != "object":
        message = "describes the arguments, which are an object: write type: object with properties"
        raise bad_request([FieldProblem(path="parametersSchema.type", message=message)])


def _check_size(records: Iterable[HandlerRecord]) -> None:
    size = sum(len(orjson.dumps([getattr(record, name) for name in _CONTENT])) for record in records)
    if size > TOGETHER_LIMIT:
        raise too_large(
            "body",
            f"the integration's handlers together would be {size:,} bytes; they may have {TOGETHER_LIMIT:,}",
        )


def _refuse_repeats(records: Sequence[HandlerRecord]) -> None:
    seen: dict[str, int] = {}
    for index, record in enumerate(records):
        first = seen.setdefault(record.name, index)
        if first != index:
            message = f"handlers {first} and {index} are both called {record.name!r}"
            raise conflict(message, field=f"{index}.name")


def _changes(before: HandlerRecord, after: HandlerRecord) -> dict[str, Any]:
    return {name: getattr(after, name) for name in _CONTENT if getattr(after, name) != getattr(before, name)}


def _taken(error: Duplicate, name: str) -> ApiError:
    return conflict(f"there is a handler called {name!r} in this integration", field=error.field)


def _view(record: HandlerRecord) -> HandlerView:
    return HandlerView(
        id=record.id,
        integration_id=record.integration_id,
        name=record.name,
        description=record.description,
        url=record.url,
        method=record.method,
        headers=record.headers,
        body=record.body,
        parameters_schema=record.parameters_schema,
        is_side_effect=record.is_side_effect,
        effect=None if record.effect is None else HandlerEffect.model_validate(record.effect),
        created_at=record.created_at,
        updated_at=record.updated_at,
    )
