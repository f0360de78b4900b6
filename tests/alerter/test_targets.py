from __future__ import annotations

from typing import Any

import pytest

from proctor_alerter.settings import AlerterSettings
from proctor_alerter.targets import Source, policy
from proctor_contracts.alerts import AlertKind, AlertSettings, WebhookFormat
from tests.alerter.world import WEBHOOK

OPERATOR = AlerterSettings(webhook=WEBHOOK, delta=12, lookback=5)
OWN = "https://hooks.example/own"


def own(**fields: Any) -> AlertSettings:
    return AlertSettings.model_validate(fields)


def test_an_integration_without_a_word_of_its_own_follows_the_operator() -> None:
    for silent in (None, own()):
        chosen = policy(OPERATOR, silent)
        assert (chosen.delta, chosen.lookback, chosen.muted) == (12, 5, False)
        assert chosen.target is not None
        assert (chosen.target.source, chosen.target.url) == (Source.ENVIRONMENT, WEBHOOK.url)


def test_each_field_is_laid_over_by_itself() -> None:
    chosen = policy(OPERATOR, own(delta=20, webhookFormat="slack"))
    assert (chosen.delta, chosen.lookback) == (20, 5)
    assert chosen.target is not None
    assert (chosen.target.url, chosen.target.format) == (WEBHOOK.url, WebhookFormat.SLACK)


def test_an_address_of_its_own_is_signed_by_its_own_secret_or_not_at_all() -> None:
    for fields, secret in (({}, None), ({"webhookSecret": {"secret": "OURS"}}, "OURS")):
        chosen = policy(OPERATOR, own(webhookUrl=OWN, **fields))
        assert chosen.target is not None
        assert (chosen.target.source, chosen.target.url) == (Source.INTEGRATION, OWN)
        assert chosen.target.secret == secret


def test_without_any_address_there_is_no_target() -> None:
    assert policy(AlerterSettings(), own(webhookFormat="slack")).target is None


@pytest.mark.parametrize("kind", list(AlertKind))
def test_what_is_told_by_choice_needs_the_choice(kind: AlertKind) -> None:
    chosen = {AlertKind.SUSPECTED, AlertKind.DRIFT, AlertKind.MODEL_CHANGE}
    assert policy(OPERATOR, None).wants(kind) is (kind not in chosen)
    assert policy(OPERATOR, own(tell=sorted(chosen))).wants(kind)
