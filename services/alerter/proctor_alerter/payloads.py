"""The bodies of alerts, from what was found; written once, and the same at every try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from proctor_contracts.alerts import (
    AlertKind,
    CategoryChange,
    ModelChange,
    NoticePayload,
    RegressionPayload,
    WebhookFormat,
)
from proctor_contracts.verdicts import RegressionVerdict
from proctor_grading.streaks import Notice, Told
from proctor_store.repositories.looks import RunFacts

from .findings import Findings
from .slack import slack_body

__all__ = ["NOTICE_KINDS", "Links", "Payload", "notice_payload", "regression_payload", "webhook_body"]

Payload = RegressionPayload | NoticePayload

NOTICE_KINDS = {
    Told.FAILING: AlertKind.EXECUTION_FAILURES,
    Told.RECOVERED: AlertKind.RECOVERY,
    Told.GATE_LOST: AlertKind.GATE_FAILURES,
}


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses for people; without the API's own public one they begin with its path."""

    public_url: str = ""

    def run(self, run_id: UUID) -> str:
        """Where a run is read."""
        return f"{self.public_url}/api/testing/runs/{run_id}"


def regression_payload(
    kind: AlertKind,
    *,
    alert_id: UUID,
    run: RunFacts,
    findings: Findings,
    changes: Sequence[CategoryChange],
    model_changes: Sequence[ModelChange],
    links: Links,
) -> RegressionPayload:
    """Write down what became of a run's categories; `changes` are those that the alert is about.

    The first of them leads: its p-value and numbers stand for the whole.
    """
    leading = changes[0] if changes else None
    return RegressionPayload(
        kind=kind,
        alert_id=alert_id,
        run_id=run.id,
        integration_id=run.integration_id,
        integration_name=run.integration_name,
        trigger=run.trigger,
        threshold_points=findings.threshold,
        regressions=tuple(changes),
        current=findings.current(),
        baseline=findings.baseline(),
        verdict=_verdict(kind, findings),
        p_value=None if leading is None else leading.p_value,
        n=0 if leading is None else leading.n,
        runs_used=findings.runs_used if leading is None else leading.runs_used,
        model_changes=tuple(model_changes),
        schedule_id=run.schedule_id,
        stale=findings.stale,
        completed_at=run.completed_at,
        link=links.run(run.id),
    )


def notice_payload(
    notice: Notice, *, alert_id: UUID, run: RunFacts, schedule_id: UUID, schedule_name: str, links: Links
) -> NoticePayload:
    """Write down that runs of a schedule went wrong in a row, or that one after them did not."""
    return NoticePayload(
        kind=NOTICE_KINDS[notice.told],
        alert_id=alert_id,
        run_id=run.id,
        integration_id=run.integration_id,
        integration_name=run.integration_name,
        trigger=run.trigger,
        schedule_id=schedule_id,
        schedule_name=schedule_name,
        runs_in_a_row=notice.runs,
        threshold=notice.threshold,
        reason=_reason(notice, run),
        completed_at=run.completed_at,
        link=links.run(run.id),
    )


def webhook_body(payload: Payload, form: WebhookFormat, *, written: str) -> str:
    """Give the body that a webhook gets: the payload as it was `written`, or a text for Slack."""
    match form:
        case WebhookFormat.JSON:
            return written
        case WebhookFormat.SLACK:
            return slack_body(payload)


def _verdict(kind: AlertKind, findings: Findings) -> RegressionVerdict:
    match kind:
        case AlertKind.REGRESSION:
            return RegressionVerdict.REGRESSION
        case AlertKind.SUSPECTED:
            return RegressionVerdict.SUSPECTED
        case _:
            return findings.verdict


def _reason(notice: Notice, run: RunFacts) -> str | None:
    """Say what the newest run met, in words of Proctor's own."""
    match notice.told:
        case Told.FAILING:
            codes = (run.summary or {}).get("errorsByCode") or {}
            named = sorted(codes, key=lambda code: (-codes[code], code))[:3]
            shown = ", ".join(f"{code} ({codes[code]})" for code in named)
            return f"nothing could be graded: {shown}" if shown else "nothing could be graded"
        case Told.GATE_LOST:
            reasons = (run.gate_decision or {}).get("reasons") or ()
            return str(reasons[0]["message"]) if reasons else None
        case Told.RECOVERED:
            return None
