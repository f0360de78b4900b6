"""What a receiver gets, pinned in tests/data/alerts; PROCTOR_REWRITE_GOLDENS=1 writes the files anew."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor_alerter.findings import Findings, category_change
from proctor_alerter.payloads import Links, Payload, notice_payload, regression_payload, webhook_body
from proctor_alerter.slack import MOST_CATEGORIES
from proctor_contracts.alerts import AlertKind, ModelChange, NoticePayload, WebhookFormat
from proctor_contracts.verdicts import RegressionVerdict
from proctor_grading.regression import CategoryFinding
from proctor_grading.streaks import Notice, Told
from proctor_store.repositories.looks import RunFacts

FOLDER = Path(__file__).parent.parent / "data" / "alerts"
REWRITE = os.environ.get("PROCTOR_REWRITE_GOLDENS") == "1"
ALERT, RUN, INTEGRATION, RERUN = (UUID(int=number) for number in range(1, 5))
LINKS = Links("https://proctor.example")
SEED = ("runId", "integrationId", "trigger", "thresholdPoints", "regressions", "current", "baseline")


def facts(**more: Any) -> RunFacts:
    fields: dict[str, Any] = {
        "id": RUN,
        "account_id": UUID(int=9),
        "integration_id": INTEGRATION,
        "integration_name": "Підтримка",
        "alerts": None,
        "status": "completed",
        "mode": "case",
        "trigger": "scheduled",
        "prompt_overridden": False,
        "compare_run_id": None,
        "rerun_of": None,
        "confirms_run_id": None,
        "schedule_id": UUID(int=8),
        "completed_at": datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
        "agent_models": [],
        "judge_models": [],
        "agent_fingerprints": None,
        "judge_fingerprints": None,
        "runner": "scripted",
        "weather": (),
    }
    return RunFacts(**fields | more)


def finding(
    verdict: RegressionVerdict, now: float, before: float | None, p: float | None = 0.0042
) -> CategoryFinding:
    drop = None if before is None else before - now
    return CategoryFinding(verdict, now, before, drop, p, 10, 7)


FINDINGS = Findings(
    threshold=10,
    runs_used=7,
    categories={
        "Мова": finding(RegressionVerdict.REGRESSION, 72.4, 91.2),
        "Ідентифікація": finding(RegressionVerdict.OK, 97.5, 97.25, 1.0),
        "Знижки": finding(RegressionVerdict.SUSPECTED, 85, 95.5, 0.125),
        "Нова": finding(RegressionVerdict.NO_BASELINE, 50, None, None),
    },
)
CHANGED = (
    ModelChange(role="agent", what="model", before=("gpt-4o-2024-08-06",), now=("gpt-4o-2024-11-20",)),
)


def body(kind: AlertKind, findings: Findings = FINDINGS, *names: str, **more: Any) -> Payload:
    if "changes" not in more:
        about = names or ("Мова", "Знижки")
        more["changes"] = [category_change(name, findings.categories[name]) for name in about]
    given: dict[str, Any] = {"model_changes": CHANGED, "links": LINKS, "run": facts()}
    return regression_payload(kind, alert_id=ALERT, findings=findings, **given | more)


def confirmed() -> Payload:
    again = CategoryFinding(RegressionVerdict.REGRESSION, 70.1, 95.5, 25.4, 0.003, 10, 7)
    change = category_change("Знижки", FINDINGS.categories["Знижки"], rerun=(RERUN, again))
    return body(AlertKind.REGRESSION, changes=[change], model_changes=())


def notice(told: Told, **more: Any) -> Payload:
    return notice_payload(
        Notice(told, 3, 3),
        alert_id=ALERT,
        run=facts(summary={"errorsByCode": {"timeout": 4}}, **more),
        schedule_id=UUID(int=8),
        schedule_name="Щоночі",
        links=LINKS,
    )


LOST = {"outcome": "failed", "reasons": [{"code": "pass_rate", "message": "pass rate 80 % < 90 %"}]}
BODIES = {
    "regression": body(AlertKind.REGRESSION),
    "confirmed": confirmed(),
    "suspected": body(AlertKind.SUSPECTED, FINDINGS, "Знижки"),
    "model_change": body(AlertKind.MODEL_CHANGE, changes=[]),
    "execution_failures": notice(Told.FAILING),
    "recovery": notice(Told.RECOVERED),
    "gate_failures": notice(Told.GATE_LOST, gate_decision=LOST),
}


@pytest.mark.parametrize("form", list(WebhookFormat))
@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_body_is_the_pinned_one(name: str, form: WebhookFormat) -> None:
    payload = BODIES[name]
    sent = json.loads(webhook_body(payload, form, written=payload.model_dump_json()))
    path = FOLDER / f"{name}.{form.value}.json"
    if REWRITE:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(json.dumps(sent, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    assert sent == json.loads(path.read_text(encoding="utf-8"))


def test_the_fields_that_receivers_always_had_are_there() -> None:
    sent = json.loads(BODIES["regression"].model_dump_json())
    assert set(SEED) <= set(sent)
    assert {"category", "currentAvg", "baselineAvg", "deltaPoints"} <= set(sent["regressions"][0])


def test_averages_are_rounded_half_up_and_the_drop_by_itself() -> None:
    found = Findings(
        threshold=10, runs_used=3, categories={"Мова": finding(RegressionVerdict.REGRESSION, 72.5, 82.5)}
    )
    sent = json.loads(body(AlertKind.REGRESSION, found, "Мова").model_dump_json())
    assert (sent["current"], sent["baseline"]) == ({"Мова": 73}, {"Мова": 83})
    (change,) = sent["regressions"]
    assert (change["currentAvg"], change["baselineAvg"], change["deltaPoints"]) == (73, 83, 10)


def test_a_threshold_is_written_as_people_write_it() -> None:
    for threshold, written in ((10.0, '"thresholdPoints":10,'), (7.5, '"thresholdPoints":7.5,')):
        found = Findings(threshold=threshold, runs_used=3, categories=FINDINGS.categories)
        assert written in body(AlertKind.REGRESSION, found).model_dump_json()


def test_without_a_public_address_the_link_is_a_path() -> None:
    payload = body(AlertKind.REGRESSION, links=Links())
    assert payload.link == f"/api/testing/runs/{RUN}"
    assert "<" not in json.loads(webhook_body(payload, WebhookFormat.SLACK, written=""))["text"]


def slack(payload: Payload) -> str:
    return str(json.loads(webhook_body(payload, WebhookFormat.SLACK, written=""))["text"])


EVIL = "<!channel> & <https://evil.example|click> *b* `code` @here https://evil.example\n• *Fake*"


def test_no_words_of_a_user_become_markup() -> None:
    found = Findings(
        threshold=10, runs_used=3, categories={EVIL: finding(RegressionVerdict.REGRESSION, 10, 90)}
    )
    text = slack(body(AlertKind.REGRESSION, found, EVIL, run=facts(integration_name=EVIL)))
    outside = [part for place, part in enumerate(text.split("`")) if place % 2 == 0]
    assert not any(word in part for part in outside for word in ("evil", "channel", "Fake", "@here"))
    assert "<!channel>" not in text
    assert len(text.splitlines()) == 4
    assert text.count("<") == 1  # our own link


def test_a_notice_keeps_a_users_words_in_their_place() -> None:
    payload = notice(Told.FAILING)
    assert isinstance(payload, NoticePayload)
    text = slack(payload.model_copy(update={"schedule_name": EVIL, "reason": EVIL}))
    assert len(text.splitlines()) == 4
    assert text.count("<") == 1


def test_a_text_has_a_bounded_length() -> None:
    many = {f"{'к' * 60}{n}": finding(RegressionVerdict.REGRESSION, 10, 90) for n in range(200)}
    found = Findings(threshold=10, runs_used=7, categories=many)
    changes = [category_change(name, one, note="x" * 5_000) for name, one in many.items()]
    models = [ModelChange(role="agent", what="model", before=("m" * 999,) * 50, now=("n" * 999,) * 50)] * 4
    text = slack(body(AlertKind.REGRESSION, found, changes=changes, model_changes=models))
    assert len(text) < 8_000
    assert f"and {200 - MOST_CATEGORIES} more" in text
