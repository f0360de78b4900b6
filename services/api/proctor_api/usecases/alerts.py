"""Alerts as their users read them, and sending one again; deciding and delivering is the alerter's work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, not_found
from proctor_contracts.alerts import AlertKind, DeliveryState, WebhookFormat
from proctor_contracts.schemas.alerts import AlertView, DeliveryAttemptView, DeliveryView
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_contracts.verdicts import RegressionVerdict
from proctor_store.paging import Page
from proctor_store.repositories import alerts, deliveries, integrations
from proctor_store.repositories.alerts import AlertQuery, AlertRecord
from proctor_store.repositories.deliveries import AttemptRecord, DeliveryRecord
from proctor_store.session import Database, Unit

from .integrations import integration_of

__all__ = ["Alerts"]

_INTEGRATION = "integration"


@dataclass(frozen=True, slots=True)
class Alerts:
    """Reads the account's alerts with their deliveries."""

    database: Database
    clock: Callable[[], datetime]

    async def get(self, caller: Caller, alert_id: UUID) -> AlertView:
        """Read one with every try of its deliveries.

        Raises:
            ApiError: 404.
        """
        async with self.database.reading() as unit:
            return await self._view(unit, caller, alert_id)

    async def list(
        self,
        caller: Caller,
        page: Page,
        *,
        integration_id: UUID | None = None,
        kind: AlertKind | None = None,
        run_id: UUID | None = None,
        schedule_id: UUID | None = None,
    ) -> Listing[AlertView]:
        """List them, newest first; they outlive the runs and schedules that they are about.

        Raises:
            ApiError: 404 for an unknown integration.
        """
        query = AlertQuery(
            integration_id=integration_id,
            kind=None if kind is None else kind.value,
            run_id=run_id,
            schedule_id=schedule_id,
        )
        async with self.database.reading() as unit:
            if integration_id is not None:
                await integration_of(unit, caller, integration_id)
            rows = await alerts.listed(unit, caller.account_id, query, page)
            views = await _views(unit, rows.items)
        return Listing[AlertView](
            data=views,
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def redeliver(self, caller: Caller, alert_id: UUID) -> AlertView:
        """Have every delivery of an alert made again, with the same ids and bytes.

        Raises:
            ApiError: 404, 409 while one is still being made, 400 when there is nowhere to send it.
        """
        async with self.database.transaction() as unit:
            alert = await self._alert(unit, caller, alert_id)
            made = (await deliveries.of_alerts(unit, [alert_id]))[alert_id]
            await self._check_receivers(unit, caller, alert, made)
            now = self.clock()
            for delivery in made:
                if not await deliveries.redeliver(unit, caller.account_id, delivery.id, now=now):
                    raise conflict(
                        "a delivery of this alert is still being made; read its attempts to see how it goes",
                        field="id",
                        code="delivery_pending",
                    )
            return await self._view(unit, caller, alert_id)

    async def _check_receivers(
        self, unit: Unit, caller: Caller, alert: AlertRecord, made: Sequence[DeliveryRecord]
    ) -> None:
        """Refuse what could only fail: the receiver is read anew when something is sent."""
        if not made:
            raise _no_webhook(f"nobody was to be told of this alert ({alert.untold or 'no webhook was set'})")
        if any(delivery.source == _INTEGRATION for delivery in made):
            integration = await integrations.get(unit, caller.account_id, alert.integration_id)
            own = (integration.alerts if integration is not None else None) or {}
            if own.get("webhookUrl") is None:
                raise _no_webhook("the integration has no alerts.webhookUrl any more; set one and try again")

    async def _alert(self, unit: Unit, caller: Caller, alert_id: UUID) -> AlertRecord:
        found = await alerts.get(unit, caller.account_id, alert_id)
        if found is None:
            raise not_found("alert")
        return found

    async def _view(self, unit: Unit, caller: Caller, alert_id: UUID) -> AlertView:
        (view,) = await _views(unit, [await self._alert(unit, caller, alert_id)])
        return view


async def _views(unit: Unit, records: Sequence[AlertRecord]) -> tuple[AlertView, ...]:
    made = await deliveries.of_alerts(unit, [record.id for record in records])
    attempts = await deliveries.attempts_of(unit, [one.id for each in made.values() for one in each])
    return tuple(_alert_view(record, made[record.id], attempts) for record in records)


def _alert_view(
    record: AlertRecord,
    made: Sequence[DeliveryRecord],
    attempts: Mapping[UUID, Sequence[AttemptRecord]],
) -> AlertView:
    return AlertView(
        id=record.id,
        integration_id=record.integration_id,
        run_id=record.run_id,
        schedule_id=record.schedule_id,
        kind=AlertKind(record.kind),
        verdict=None if record.verdict is None else RegressionVerdict(record.verdict),
        payload=record.payload,
        untold=record.untold,
        deliveries=tuple(_delivery_view(one, attempts[one.id]) for one in made),
        created_at=record.created_at,
    )


def _delivery_view(record: DeliveryRecord, attempts: Sequence[AttemptRecord]) -> DeliveryView:
    return DeliveryView(
        id=record.id,
        target=record.target,
        format=WebhookFormat(record.format),
        state=DeliveryState(record.state),
        attempts=tuple(
            DeliveryAttemptView(
                number=one.number,
                at=one.at,
                duration_ms=one.duration_ms,
                status=one.status,
                error=one.error,
                detail=one.detail,
            )
            for one in attempts
        ),
        next_attempt_at=record.next_attempt_at,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def _no_webhook(message: str) -> ApiError:
    return bad_request([FieldProblem(path="id", message=message, code="no_webhook")], code="no_webhook")
