from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from proctor_alerter.settings import AlerterSettings
from proctor_chassis.secrets import Redactor
from proctor_chassis.settings import SettingsError
from proctor_contracts.alerts import WebhookFormat
from tests.alerter.world import KEY

URL = "TESTING_REGRESSION_WEBHOOK_URL"
FORMAT = "TESTING_REGRESSION_WEBHOOK_FORMAT"
SECRET = "TESTING_REGRESSION_WEBHOOK_SECRET"
DELTA = "TESTING_REGRESSION_DELTA"
LOOKBACK = "TESTING_REGRESSION_LOOKBACK"
PUBLIC = "PROCTOR_PUBLIC_URL"
WRITTEN = f"whsec_{b64encode(KEY).decode()}"


def test_nothing_set_is_the_seeds_rule_and_no_webhook() -> None:
    settings = AlerterSettings.from_env({})
    assert (settings.webhook, settings.delta, settings.lookback, settings.public_url) == (None, 10, 7, "")


def test_everything_that_can_be_said() -> None:
    env = {
        URL: "https://hooks.example/proctor",
        FORMAT: "Slack",
        SECRET: WRITTEN,
        DELTA: "7.5",
        LOOKBACK: "14",
        PUBLIC: "https://proctor.example/",
    }
    settings = AlerterSettings.from_env(env)
    assert settings.webhook is not None
    assert (settings.webhook.format, settings.webhook.key) == (WebhookFormat.SLACK, KEY)
    assert (settings.delta, settings.lookback) == (7.5, 14)
    assert settings.public_url == "https://proctor.example"


def test_the_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(f"{WRITTEN}\n")
    env = {URL: "https://hooks.example/", f"{SECRET}_FILE": str(path)}
    settings = AlerterSettings.from_env(env)
    assert settings.webhook is not None
    assert settings.webhook.key == KEY


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("https://hooks.slack.com/services/T/B/x", WebhookFormat.SLACK),
        ("https://HOOKS.slack.com./services/T/B/x", WebhookFormat.SLACK),
        ("https://hooks.slack.com.evil.example/", WebhookFormat.JSON),
        ("http://127.0.0.1:9000/", WebhookFormat.JSON),
    ],
)
def test_slacks_own_addresses_are_told_as_slack_reads(url: str, form: WebhookFormat) -> None:
    settings = AlerterSettings.from_env({URL: url})
    assert settings.webhook is not None
    assert settings.webhook.format is form


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (URL, "hooks.example/x"),
        (URL, "ftp://hooks.example/"),
        (URL, "https://user:password@hooks.example/"),
        (URL, "https://hooks.example:0/"),
        (URL, "https://hooks.example:99999/"),
        (URL, "https://hooks.example\\@127.0.0.1/"),
        (URL, "http://2130706433/"),
        (URL, "http://169.254.169.254/"),
        (URL, "http://0.0.0.0/"),
        (FORMAT, "xml"),
        (SECRET, "a passphrase"),
        (SECRET, "whsec_c2hvcnQ="),
        (f"{SECRET}_FILE", "/nowhere/at/all"),
        (DELTA, "0"),
        (DELTA, "-1"),
        (DELTA, "nan"),
        (DELTA, "101"),
        (DELTA, "ten"),
        (LOOKBACK, "0"),
        (LOOKBACK, "51"),
        (LOOKBACK, "7.5"),
        (LOOKBACK, "٧"),
        (PUBLIC, "proctor.example"),
        (PUBLIC, "https://proctor.example/?a=1"),
        (PUBLIC, "https://proctor.example|<evil>"),
    ],
)
def test_what_is_wrong_is_named(name: str, value: str) -> None:
    env = {URL: "https://hooks.example/", name: value}
    with pytest.raises(SettingsError, match=f"^{name}"):
        AlerterSettings.from_env(env)


def test_two_secrets_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"{SECRET}_FILE"):
        AlerterSettings.from_env({SECRET: WRITTEN, f"{SECRET}_FILE": str(tmp_path)})


def test_an_empty_secret_file_is_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("\n")
    with pytest.raises(SettingsError, match="empty"):
        AlerterSettings.from_env({f"{SECRET}_FILE": str(path)})


def test_neither_the_address_nor_the_key_is_ever_shown() -> None:
    settings = AlerterSettings.from_env({URL: "https://hooks.example/s3cret", SECRET: WRITTEN})
    assert "s3cret" not in repr(settings)
    assert str(KEY) not in repr(settings)
    redactor = Redactor()
    settings.hide(redactor)
    shown = redactor.text(f"cannot reach https://hooks.example/s3cret with {WRITTEN}")
    assert "s3cret" not in shown
    assert WRITTEN.removeprefix("whsec_") not in shown
