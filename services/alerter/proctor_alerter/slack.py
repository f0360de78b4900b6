"""Alerts as a text that Slack reads, and whatever else takes its body (Mattermost, Discord's `/slack`).

Words that a user chose stand in code spans, where nothing is a link, a mention or a mark; what Slack reads
as markup anywhere is escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from proctor_contracts.alerts import (
    AlertKind,
    CategoryChange,
    ModelChange,
    NoticePayload,
    RegressionPayload,
)
from proctor_contracts.verdicts import RegressionVerdict

__all__ = ["MOST_CATEGORIES", "slack_body"]

MOST_CATEGORIES = 10
_LONGEST_NAME = 80
_LONGEST_REASON = 300
_MOST_MODELS = 3
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_TITLES = {
    AlertKind.REGRESSION: "Regression",
    AlertKind.SUSPECTED: "Suspected regression",
    AlertKind.DRIFT: "Drift",
    AlertKind.MODEL_CHANGE: "Another model answers",
    AlertKind.EXECUTION_FAILURES: "Runs fail",
    AlertKind.RECOVERY: "Runs work again",
    AlertKind.GATE_FAILURES: "Gate lost",
}


def slack_body(payload: RegressionPayload | NoticePayload) -> str:
    """Write the body: a short text, no pictures of what it links to."""
    lines = _regression(payload) if isinstance(payload, RegressionPayload) else _notice(payload)
    text = "\n".join((*lines, _link(payload)))
    return json.dumps({"text": text, "unfurl_links": False, "unfurl_media": False}, ensure_ascii=False)


def _regression(payload: RegressionPayload) -> Iterator[str]:
    late = ", in a run that is not the newest" if payload.stale else ""
    yield f"*{_TITLES[payload.kind]}* in {_code(payload.integration_name)} ({payload.trigger} run{late})"
    for change in payload.regressions[:MOST_CATEGORIES]:
        yield f"• {_change(change)}"
    if (more := len(payload.regressions) - MOST_CATEGORIES) > 0:
        yield f"• and {more} more"
    for one in payload.model_changes:
        yield f"• {_model(one)}"


def _notice(payload: NoticePayload) -> Iterator[str]:
    yield (
        f"*{_TITLES[payload.kind]}*: schedule {_code(payload.schedule_name)} "
        f"of {_code(payload.integration_name)}"
    )
    runs = "1 run" if payload.runs_in_a_row == 1 else f"{payload.runs_in_a_row} runs in a row"
    match payload.kind:
        case AlertKind.RECOVERY:
            yield f"• a run completed after {runs} that failed"
        case AlertKind.GATE_FAILURES:
            yield f"• {runs} lost the gate"
        case _:
            yield f"• {runs} failed"
    if payload.reason:
        yield f"• {_code(payload.reason, most=_LONGEST_REASON)}"


def _change(change: CategoryChange) -> str:
    fell = f"was {change.baseline_avg} ({-change.delta_points:+d})"
    parts = [f"{_code(change.category)} {change.current_avg}, {fell}"]
    if change.verdict is not RegressionVerdict.REGRESSION:
        parts.append(change.verdict.value)
    if change.confirmed_by is not None:
        parts.append(f"confirmed by a rerun ({change.confirmed_avg})")
    if change.p_value is not None:
        parts.append(f"p = {change.p_value:.3g}, {change.n} cases, {change.runs_used} runs")
    if change.note:
        parts.append(_code(change.note, most=_LONGEST_REASON))
    return ", ".join(parts)


def _model(change: ModelChange) -> str:
    return f"{change.role} {change.what}: {_models(change.before)} → {_models(change.now)}"


def _models(names: tuple[str, ...]) -> str:
    shown = ", ".join(_code(name) for name in names[:_MOST_MODELS])
    return shown + (" …" if len(names) > _MOST_MODELS else "") if names else "none"


def _link(payload: RegressionPayload | NoticePayload) -> str:
    if "://" in payload.link:
        return f"<{_escaped(payload.link)}|Run {payload.run_id}>"
    return f"Run {payload.run_id}"


def _code(text: str, *, most: int = _LONGEST_NAME) -> str:
    """Set a user's words apart, on one line and not too long."""
    plain = _UNPRINTABLE.sub(" ", text).replace("`", "'").strip()
    if len(plain) > most:
        plain = plain[: most - 1] + "…"
    return f"`{_escaped(plain)}`" if plain else "` `"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
