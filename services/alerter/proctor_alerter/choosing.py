"""What a look is a reason to tell, and which of it is told: a pure decision, one alert a run at most."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proctor_contracts.alerts import AlertKind, CategoryChange, ModelChange
from proctor_contracts.verdicts import RegressionVerdict

from .findings import Findings, category_change
from .targets import Policy

__all__ = ["MOST_CATEGORIES", "Choice", "Draft", "Untold", "choose"]

MOST_CATEGORIES = 200
"""Categories of one message or rerun; a run that lost more has other worries."""


class Untold:
    """Why an alert is kept and not sent; the last is followed by what was sent instead."""

    MUTED = "muted"
    NO_WEBHOOK = "no_webhook"
    NOT_ASKED_FOR = "not_asked_for"
    STALE_REPEAT = "stale_repeat"
    TOLD_WITH = "told_with:"


@dataclass(frozen=True, slots=True)
class Draft:
    """An alert to be kept, with the categories it is about; sent unless `untold` says why not."""

    kind: AlertKind
    changes: Sequence[CategoryChange]
    untold: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What follows from a look: alerts, and the suspected categories that a rerun shall confirm.

    `reason` says why suspected categories are not rerun.
    """

    drafts: Sequence[Draft]
    fallen: Sequence[CategoryChange]
    confirm: Sequence[str]
    reason: str | None = None


def choose(
    findings: Findings,
    model_changes: Sequence[ModelChange],
    policy: Policy,
    *,
    told_before: Collection[str] = (),
) -> Choice:
    """Decide on a look.

    Only the gravest kind that the integration wants to hear of is sent; it names the models that changed.
    Suspected categories are rerun, except those of a stale run, since a rerun would try today's bot, and
    those of a muted integration, since nobody would hear of it. `told_before` are the regressed categories
    that were told for the run before: of a stale run they are no news.
    """
    regressed = findings.with_verdict(RegressionVerdict.REGRESSION)
    suspected = findings.with_verdict(RegressionVerdict.SUSPECTED)
    drifting = findings.with_verdict(RegressionVerdict.DRIFT)
    reason = _not_rerun(findings, policy) if suspected else None
    asked = "a rerun was asked for" if reason is None else f"not rerun: {reason}"
    fallen = [category_change(name, findings.categories[name]) for name in regressed]
    for place, name in enumerate(suspected):
        note = asked if reason or place < MOST_CATEGORIES else f"not rerun: more than {MOST_CATEGORIES}"
        fallen.append(category_change(name, findings.categories[name], note=note))
    drafts: list[tuple[AlertKind, Sequence[CategoryChange]]] = []
    if fallen:
        drafts.append((AlertKind.REGRESSION if regressed else AlertKind.SUSPECTED, fallen))
    if drifting:
        changes = [category_change(name, findings.categories[name]) for name in drifting]
        drafts.append((AlertKind.DRIFT, changes))
    if model_changes:
        drafts.append((AlertKind.MODEL_CHANGE, ()))
    repeat = findings.stale and bool(regressed) and set(regressed) <= set(told_before)
    return Choice(
        drafts=_sent(drafts, policy, repeat=repeat),
        fallen=fallen[:MOST_CATEGORIES],
        confirm=() if reason else suspected[:MOST_CATEGORIES],
        reason=reason,
    )


def _not_rerun(findings: Findings, policy: Policy) -> str | None:
    if policy.muted:
        return "the integration's alerts are muted"
    if findings.stale:
        return "a newer run had completed, and a rerun would try today's bot"
    return None


def _sent(
    drafts: Sequence[tuple[AlertKind, Sequence[CategoryChange]]], policy: Policy, *, repeat: bool
) -> Sequence[Draft]:
    found: list[Draft] = []
    sent: AlertKind | None = None
    for kind, changes in drafts:
        untold = None
        if policy.muted:
            untold = Untold.MUTED
        elif not policy.wants(kind):
            untold = Untold.NOT_ASKED_FOR
        elif repeat and kind is AlertKind.REGRESSION:
            untold = Untold.STALE_REPEAT
        elif sent is not None:
            untold = f"{Untold.TOLD_WITH}{sent}"
        else:
            sent = kind
        found.append(Draft(kind, changes, untold))
    return found
