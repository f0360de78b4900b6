"""Alerts: what is told, to whom, and the body that travels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, PlainSerializer

from .base import TYPED, SafeText, Strict, Wire
from .endpoint import SecretRef
from .schemas.common import Timestamp
from .verdicts import RegressionVerdict

__all__ = [
    "AlertKind",
    "AlertPayload",
    "AlertSettings",
    "CategoryChange",
    "DeliveryState",
    "ModelChange",
    "NoticePayload",
    "RegressionPayload",
    "WebhookFormat",
]


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value


Points = Annotated[float, PlainSerializer(_plain, return_type=int | float, when_used="json")]
"""A number of points, a whole one written without a fraction: `10`, as receivers always had it."""


class AlertKind(StrEnum):
    """What an alert is about; one of a kind for each run, and one more for the rerun that it asked for."""

    REGRESSION = "regression"
    SUSPECTED = "suspected"
    DRIFT = "drift"
    MODEL_CHANGE = "model_change"
    EXECUTION_FAILURES = "execution_failures"
    RECOVERY = "recovery"
    GATE_FAILURES = "gate_failures"


class DeliveryState(StrEnum):
    """Where a delivery stands: it is tried until it arrives, is refused for good, or runs out of tries."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class WebhookFormat(StrEnum):
    """How a webhook wants to be told: the JSON payload, or a text as Slack reads it."""

    JSON = "json"
    SLACK = "slack"


class AlertSettings(Strict):
    """An integration's own alerts, in place of what the environment says; null leaves that as it is.

    `tell` lists what is sent besides regressions and notices of schedules; all else is only recorded.
    """

    webhook_url: Annotated[SafeText, Field(min_length=1, max_length=2_048)] | None = None
    webhook_format: WebhookFormat | None = None
    webhook_secret: SecretRef | None = None
    delta: Annotated[float, Field(gt=0, le=100), TYPED] | None = None
    lookback: Annotated[int, Field(ge=1, le=50), TYPED] | None = None
    tell: tuple[Literal["suspected", "drift", "model_change"], ...] | None = None
    muted: bool = False


class CategoryChange(Wire):
    """A category that fell, in whole points; `p_value` is null when nothing could be tested.

    `confirmed_by` is the rerun that confirmed it and `confirmed_avg` its average, null when one look was
    enough; `p_value` and `n` then are the rerun's, since it decided.
    """

    category: str
    current_avg: int
    baseline_avg: int
    delta_points: int
    verdict: RegressionVerdict
    p_value: float | None = None
    n: int = 0
    runs_used: int = 0
    confirmed_by: UUID | None = None
    confirmed_avg: int | None = None
    note: str | None = None


class ModelChange(Wire):
    """What a provider said it answered with, in the run before and in this one."""

    role: Literal["agent", "judge"]
    what: Literal["model", "fingerprint"]
    before: tuple[str, ...]
    now: tuple[str, ...]


class AlertPayload(Wire):
    """What every alert says of the run that it is about."""

    kind: AlertKind
    alert_id: UUID
    run_id: UUID
    integration_id: UUID
    integration_name: str
    trigger: str


class RegressionPayload(AlertPayload):
    """The body of a webhook about scores.

    Run, integration, trigger and the first four fields here are those that receivers always had.
    Averages are of first attempts, rounded half up, and leave out what could not be graded.
    """

    threshold_points: Points
    regressions: tuple[CategoryChange, ...]
    current: dict[str, int]
    baseline: dict[str, int]
    verdict: RegressionVerdict
    p_value: float | None = None
    n: int = 0
    runs_used: int = 0
    model_changes: tuple[ModelChange, ...] = ()
    schedule_id: UUID | None = None
    stale: bool = False
    completed_at: Timestamp
    link: str


class NoticePayload(AlertPayload):
    """The body of a webhook about a schedule's runs in a row."""

    schedule_id: UUID
    schedule_name: str
    runs_in_a_row: int
    threshold: int
    reason: str | None = None
    completed_at: Timestamp
    link: str
