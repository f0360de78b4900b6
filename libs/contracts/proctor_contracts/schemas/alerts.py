"""Alerts and their deliveries over REST."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from proctor_contracts.alerts import AlertKind, DeliveryState, WebhookFormat
from proctor_contracts.base import Wire
from proctor_contracts.verdicts import RegressionVerdict

from .common import Timestamp

__all__ = ["AlertView", "DeliveryAttemptView", "DeliveryView"]


class DeliveryAttemptView(Wire):
    """One try: the receiver's status, or why there is none."""

    number: int
    at: Timestamp
    duration_ms: int
    status: int | None
    error: str | None
    detail: str | None


class DeliveryView(Wire):
    """One receiver of an alert; `target` hides what may be secret in its URL."""

    id: UUID
    target: str
    format: WebhookFormat
    state: DeliveryState
    attempts: tuple[DeliveryAttemptView, ...]
    next_attempt_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class AlertView(Wire):
    """An alert as it was decided; without a webhook it has no deliveries, and `untold` says why."""

    id: UUID
    integration_id: UUID
    run_id: UUID
    schedule_id: UUID | None
    kind: AlertKind
    verdict: RegressionVerdict | None
    payload: dict[str, Any]
    untold: str | None
    deliveries: tuple[DeliveryView, ...]
    created_at: Timestamp
