"""Alerts become rows, and those that are sent become deliveries, in the transaction that decided them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_chassis.metrics import Meters
from proctor_contracts.alerts import AlertKind, AlertSettings
from proctor_contracts.ids import new_id
from proctor_store.repositories import alerts, deliveries
from proctor_store.repositories.alerts import AlertRecord
from proctor_store.repositories.deliveries import DeliveryRecord
from proctor_store.repositories.looks import RunFacts
from proctor_store.session import Unit

from .choosing import Untold
from .payloads import Links, Payload, webhook_body
from .settings import AlerterSettings
from .targets import Policy, Target, policy

__all__ = ["RERUN", "RUN", "Teller"]

RUN, RERUN = "run", "rerun"
"""What an alert was occasioned by: the end of its run, or what became of the rerun that it asked for."""

_log = logging.getLogger(__name__)


class Teller:
    """Keeps alerts with their deliveries; `wake` is called once one that is to be sent is durable."""

    def __init__(
        self,
        *,
        settings: AlerterSettings,
        clock: Callable[[], datetime],
        meters: Meters,
        wake: Callable[[], None],
    ) -> None:
        self.links = Links(settings.public_url)
        self._settings = settings
        self._clock = clock
        self._meters = meters
        self._wake = wake

    def policy(self, own: Mapping[str, Any] | None) -> Policy:
        """Say what holds for an integration with these alerts of its own."""
        return policy(self._settings, None if own is None else AlertSettings.model_validate(own))

    async def tell(
        self,
        unit: Unit,
        run: RunFacts,
        kind: AlertKind,
        payload: Callable[[UUID], Payload],
        *,
        untold: str | None = None,
        occasion: str = RUN,
    ) -> None:
        """Keep an alert, and have it sent unless `untold` says why not; one that is there changes nothing.

        Without a webhook it is a warning in the log, as the operator asked for no more.
        """
        chosen = self.policy(run.alerts)
        if untold is None and chosen.muted:
            untold = Untold.MUTED
        if untold is None and chosen.target is None:
            untold = Untold.NO_WEBHOOK
        alert_id = new_id()
        body = payload(alert_id)
        written = body.model_dump_json()
        now = self._clock()
        verdict = getattr(body, "verdict", None)
        record = AlertRecord(
            id=alert_id,
            account_id=run.account_id,
            integration_id=run.integration_id,
            run_id=run.id,
            schedule_id=run.schedule_id,
            kind=kind.value,
            occasion=occasion,
            verdict=None if verdict is None else str(verdict),
            payload={},
            untold=untold,
            created_at=now,
        )
        if not await alerts.create(unit, record, written=written):
            return
        if untold is None and chosen.target is not None:
            await deliveries.create(unit, _delivery(record, chosen.target, body, written, now=now))
            unit.after_commit(self._wake)
        unit.after_commit(lambda: self._told(record))

    def _told(self, alert: AlertRecord) -> None:
        self._meters.alerts.add(kind=alert.kind, outcome="sent" if alert.untold is None else "kept")
        _log.log(
            logging.WARNING if alert.untold == Untold.NO_WEBHOOK else logging.INFO,
            "alert.decided",
            extra={
                "alert": str(alert.id),
                "run": str(alert.run_id),
                "integration": str(alert.integration_id),
                "kind": alert.kind,
                "untold": alert.untold,
            },
        )


def _delivery(
    alert: AlertRecord, target: Target, payload: Payload, written: str, *, now: datetime
) -> DeliveryRecord:
    return DeliveryRecord(
        id=new_id(),
        account_id=alert.account_id,
        alert_id=alert.id,
        integration_id=alert.integration_id,
        source=target.source.value,
        target=target.shown,
        format=target.format.value,
        body=webhook_body(payload, target.format, written=written),
        state=deliveries.PENDING,
        tries=0,
        next_attempt_at=now,
        claimed_until=None,
        created_at=now,
        updated_at=now,
    )
