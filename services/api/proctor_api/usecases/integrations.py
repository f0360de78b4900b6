"""Integrations: the bots under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, not_found, too_large
from proctor_chassis.egress.policy import Refused, parse_target
from proctor_contracts.endpoint import HttpEndpoint, endpoint_problem
from proctor_contracts.enums import Provider
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_contracts.schemas.integrations import (
    IntegrationCreate,
    IntegrationFields,
    IntegrationPatch,
    IntegrationView,
)
from proctor_store.conflicts import Duplicate, Vanished
from proctor_store.paging import Page
from proctor_store.repositories import integrations
from proctor_store.repositories.integrations import IntegrationRecord
from proctor_store.session import Database, Unit

from .alert_settings import alert_settings, patched_alerts, shown_alerts

__all__ = ["Integrations", "integration_of", "integration_view"]

PROMPT_LIMIT = 256 * 1024
_NOT_NULL = {"name": "name", "agent_prompt": "agentPrompt", "provider": "provider"}


class Integrations:
    """Creates, reads, changes and deletes the account's integrations."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def create(self, caller: Caller, body: IntegrationCreate) -> IntegrationView:
        """Add an integration.

        Raises:
            ApiError: 400 for an endpoint that does not fit or a webhook that may not be called, 409 for a
                name taken, 413 for the prompt.
        """
        record = replace(self._new(caller, body), alerts=alert_settings(body.alerts))
        try:
            async with self._database.transaction() as unit:
                await integrations.create(unit, record)
        except Duplicate as error:
            raise _taken(error, record.name) from error
        except Vanished as error:
            raise not_found("account") from error
        return integration_view(record)

    async def upsert(self, caller: Caller, body: IntegrationFields) -> IntegrationView:
        """Add the integration, or make the one of this name exactly so: fields not given are cleared.

        Its alerts are no part of this, and stay.

        Raises:
            ApiError: as `create`.
        """
        wanted = self._new(caller, body)
        try:
            async with self._database.transaction() as unit:
                found = await integrations.named(unit, caller.account_id, wanted.name)
                if found is None:
                    await integrations.create(unit, wanted)
                    return integration_view(wanted)
                kept = replace(wanted, id=found.id, created_at=found.created_at, alerts=found.alerts)
                return integration_view(await self._save(unit, found, kept))
        except Duplicate as error:
            raise _taken(error, wanted.name) from error
        except Vanished as error:
            raise not_found("account") from error

    async def get(self, caller: Caller, integration_id: UUID) -> IntegrationView:
        """Read one.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            return integration_view(await integration_of(unit, caller, integration_id))

    async def list(self, caller: Caller, page: Page, *, name: str | None = None) -> Listing[IntegrationView]:
        """List them, newest first; `name` keeps the one that is called exactly so."""
        async with self._database.reading() as unit:
            rows = await integrations.listed(unit, caller.account_id, page, name=name)
        return Listing[IntegrationView](
            data=tuple(integration_view(record) for record in rows.items),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def patch(self, caller: Caller, integration_id: UUID, body: IntegrationPatch) -> IntegrationView:
        """Change the named fields; an explicit null clears.

        Raises:
            ApiError: 400, 404, 409 or 413.
        """
        named = {name: getattr(body, name) for name in body.model_fields_set}
        cleared = [field for name, field in _NOT_NULL.items() if name in named and named[name] is None]
        if cleared:
            raise bad_request(FieldProblem(path=field, message="cannot be null") for field in cleared)
        if "endpoint" in named:
            named["endpoint"] = _endpoint(body.endpoint)
        try:
            async with self._database.transaction() as unit:
                found = await integration_of(unit, caller, integration_id, lock=True)
                if "alerts" in named:
                    named["alerts"] = patched_alerts(found.alerts, body.alerts)
                wanted = replace(found, **named)
                _check(wanted)
                return integration_view(await self._save(unit, found, wanted))
        except Duplicate as error:
            raise _taken(error, str(named.get("name"))) from error

    async def delete(self, caller: Caller, integration_id: UUID) -> None:
        """Delete one with its handlers, cases and runs.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            if not await integrations.remove(unit, caller.account_id, integration_id):
                raise not_found("integration")

    def _new(self, caller: Caller, body: IntegrationFields) -> IntegrationRecord:
        now = self._clock()
        record = IntegrationRecord(
            id=new_id(),
            account_id=caller.account_id,
            name=body.name,
            agent_prompt=body.agent_prompt,
            platform_assistant_id=body.platform_assistant_id,
            provider=body.provider,
            model=body.model,
            endpoint=_endpoint(body.endpoint),
            locale=body.locale,
            created_at=now,
            updated_at=now,
        )
        _check(record)
        return record

    async def _save(
        self, unit: Unit, found: IntegrationRecord, wanted: IntegrationRecord
    ) -> IntegrationRecord:
        if replace(wanted, updated_at=found.updated_at) == found:
            return found
        wanted = replace(wanted, updated_at=self._clock())
        await integrations.change(unit, found.id, _changes(found, wanted))
        return wanted


async def integration_of(
    unit: Unit, caller: Caller, integration_id: UUID, *, lock: bool = False
) -> IntegrationRecord:
    """Read an integration of the caller's account.

    Raises:
        ApiError: 404, for another account's as for none.
    """
    found = await integrations.get(unit, caller.account_id, integration_id, lock=lock)
    if found is None:
        raise not_found("integration")
    return found


def integration_view(record: IntegrationRecord) -> IntegrationView:
    """Show an integration."""
    return IntegrationView(
        id=record.id,
        name=record.name,
        agent_prompt=record.agent_prompt,
        platform_assistant_id=record.platform_assistant_id,
        provider=Provider(record.provider),
        model=record.model,
        endpoint=None if record.endpoint is None else HttpEndpoint.model_validate(record.endpoint),
        locale=record.locale,
        alerts=shown_alerts(record.alerts),
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def _endpoint(endpoint: HttpEndpoint | None) -> dict[str, Any] | None:
    if endpoint is None:
        return None
    return endpoint.model_dump(mode="json", by_alias=True, exclude_none=True)


def _check(record: IntegrationRecord) -> None:
    size = len(record.agent_prompt.encode())
    if size > PROMPT_LIMIT:
        raise too_large("agentPrompt", f"is {size:,} bytes of UTF-8; a prompt may have {PROMPT_LIMIT:,}")
    endpoint = None if record.endpoint is None else HttpEndpoint.model_validate(record.endpoint)
    problem = endpoint_problem(Provider(record.provider), endpoint)
    if problem is not None:
        path, _, message = problem.partition(" ")
        raise bad_request([FieldProblem(path=path, message=message)])
    # Whether the address may be reached is the runner's to say; whether it is one can be seen here.
    target = parse_target(endpoint.url) if endpoint is not None else None
    if isinstance(target, Refused):
        raise bad_request([FieldProblem(path="endpoint.url", message=target.reason, code=target.code)])


def _changes(before: IntegrationRecord, after: IntegrationRecord) -> Mapping[str, Any]:
    return {
        name: getattr(after, name)
        for name in IntegrationRecord.__slots__
        if getattr(after, name) != getattr(before, name)
    }


def _taken(error: Duplicate, name: str) -> ApiError:
    return conflict(f"there is an integration called {name!r} in this account", field=error.field)
