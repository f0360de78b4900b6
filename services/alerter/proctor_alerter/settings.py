"""What the alerter is told by its environment."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from proctor_chassis.egress import Operator, Refused, decide, parse_target
from proctor_chassis.secrets import Redactor
from proctor_chassis.settings import SettingsError
from proctor_contracts.alerts import WebhookFormat

from .signing import signing_key
from .targets import format_for

__all__ = ["AlerterSettings", "Webhook"]

_URL = "TESTING_REGRESSION_WEBHOOK_URL"
_FORMAT = "TESTING_REGRESSION_WEBHOOK_FORMAT"
_SECRET = "TESTING_REGRESSION_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
_DELTA = "TESTING_REGRESSION_DELTA"
_LOOKBACK = "TESTING_REGRESSION_LOOKBACK"
_PUBLIC = "PROCTOR_PUBLIC_URL"
DELTA = 10.0
LOOKBACK = 7
MOST_POINTS = 100
MOST_RUNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """The operator's webhook, which hears of every integration that has none of its own.

    Its address counts as listed in `rules`: it is the operator who named it.
    """

    url: str = field(repr=False)
    format: WebhookFormat
    rules: Operator
    key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlerterSettings:
    """Where alerts go, when a category counts as fallen, and where links lead.

    `delta` is in points, `lookback` in runs; `public_url` ends without a slash and is empty when it is not
    known. `concurrency` completed runs are taken at once, and `sending` deliveries, `each` to one receiver.
    """

    webhook: Webhook | None = None
    delta: float = DELTA
    lookback: int = LOOKBACK
    public_url: str = ""
    concurrency: int = 8
    sending: int = 16
    each: int = 2

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read the variables TESTING_REGRESSION_… and PROCTOR_PUBLIC_URL.

        Raises:
            SettingsError: naming the variable that is wrong.
        """
        return cls(
            webhook=_webhook(env),
            delta=_points(env),
            lookback=_runs(env),
            public_url=_public_url(env),
        )

    def hide(self, redactor: Redactor) -> None:
        """Have the webhook's address and key replaced in everything that is logged or kept."""
        if self.webhook is not None:
            redactor.add(_URL, self.webhook.url)
            if self.webhook.key is not None:
                redactor.add(_SECRET, b64encode(self.webhook.key).decode())


def _webhook(env: Mapping[str, str]) -> Webhook | None:
    url, key = env.get(_URL, "").strip(), _key(env)
    if not url:
        return None
    read = parse_target(url)
    if isinstance(read, Refused):
        raise SettingsError(f"{_URL}: {read.reason}")
    try:
        rules = Operator.from_environ(env, embedded=False)
    except ValueError as error:
        raise SettingsError(f"PROCTOR_EGRESS_ALLOW: {error}") from error
    rules = rules.allowing(url)
    verdict = decide(rules, read, None)
    if isinstance(verdict, Refused):
        raise SettingsError(f"{_URL}: {verdict.reason}")
    address = str(read.url)
    return Webhook(url=address, format=_format(env, address), key=key, rules=rules)


def _format(env: Mapping[str, str], url: str) -> WebhookFormat:
    text = env.get(_FORMAT, "").strip().lower()
    if not text:
        return format_for(url)
    if text not in set(WebhookFormat):
        raise SettingsError(f"{_FORMAT}: {text!r} is not one of {', '.join(WebhookFormat)}")
    return WebhookFormat(text)


def _key(env: Mapping[str, str]) -> bytes | None:
    text, path = env.get(_SECRET, "").strip(), env.get(f"{_SECRET}_FILE", "").strip()
    if text and path:
        raise SettingsError(f"{_SECRET} and {_SECRET}_FILE are both set; set one of them")
    name = _SECRET
    if path:
        name = f"{_SECRET}_FILE"
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{name}: {path} cannot be read ({type(error).__name__})") from None
        if not text:
            raise SettingsError(f"{name}: {path} is empty")
    if not text:
        return None
    try:
        return signing_key(text)
    except ValueError as error:
        raise SettingsError(f"{name}: {error}") from None


def _points(env: Mapping[str, str]) -> float:
    text = env.get(_DELTA, "").strip()
    if not text:
        return DELTA
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not 0 < points <= MOST_POINTS:
        raise SettingsError(f"{_DELTA}: {text!r} is not a number of points above 0, at most {MOST_POINTS}")
    return points


def _runs(env: Mapping[str, str]) -> int:
    text = env.get(_LOOKBACK, "").strip()
    if not text:
        return LOOKBACK
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_RUNS):
        raise SettingsError(f"{_LOOKBACK}: {text!r} is not a whole number of runs from 1 to {MOST_RUNS}")
    return int(text)


def _public_url(env: Mapping[str, str]) -> str:
    text = env.get(_PUBLIC, "").strip().rstrip("/")
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment or any(one in text for one in "<>|\"' \t\n"):
        raise SettingsError(f"{_PUBLIC}: should be the address of the API, such as https://proctor.example")
    return text
