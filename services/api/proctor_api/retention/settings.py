"""What the environment says of how long runs are kept, and where they go before they are deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from proctor_chassis.egress import Operator
from proctor_chassis.settings import SettingsError
from proctor_contracts.egress import EgressRefused

from .ages import Ages
from .archive import Archive, Folder

__all__ = ["RetentionSettings"]

EXPORT = "PROCTOR_RETENTION_EXPORT"
MOST_DAYS = 36_500
_FOR_EVER = frozenset({"0", "never"})
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": (),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""Each kind of bucket, and the variables that say where it answers if not at its vendor's own address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """How long things are kept, and the archive that runs go to before they are deleted, if there is one."""

    ages: Ages = field(default_factory=Ages)
    archive: Archive | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str], *, rules: Operator) -> Self:
        """Read PROCTOR_RETENTION_DAYS, _CANCELLED_DAYS, _ALERT_DAYS and _EXPORT, and open the archive.

        Raises:
            SettingsError: naming the variable that is wrong.
        """
        usual = Ages()
        return cls(
            ages=Ages(
                runs=_days(env, "PROCTOR_RETENTION_DAYS", usual.runs),
                cancelled=_days(env, "PROCTOR_RETENTION_CANCELLED_DAYS", usual.cancelled),
                alerts=_days(env, "PROCTOR_RETENTION_ALERT_DAYS", usual.alerts),
            ),
            archive=_archive(env, rules),
        )


def _days(env: Mapping[str, str], name: str, usual: timedelta | None) -> timedelta | None:
    text = env.get(name, "").strip().lower()
    if not text:
        return usual
    if text in _FOR_EVER:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_DAYS):
        raise SettingsError(
            f"{name}: {text!r} is not a whole number of days from 1 to {MOST_DAYS:,}, or never to keep all"
        )
    return timedelta(days=int(text))


def _archive(env: Mapping[str, str], rules: Operator) -> Archive | None:
    text = env.get(EXPORT, "").strip()
    if not text:
        return None
    if text.startswith("/"):
        return Folder(Path(text))
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"} and parts.path.startswith("/"):
        return Folder(Path(unquote(parts.path)))
    if parts.scheme not in _ENDPOINTS:
        raise SettingsError(
            f"{EXPORT}: should be a folder (/path or file:///path) or a bucket (s3://, gs:// or az://)"
        )
    # The value is never shown: it may hold a password.
    if "@" in parts.netloc or parts.query or parts.fragment or not parts.netloc:
        raise SettingsError(
            f"{EXPORT}: a bucket's URL is {parts.scheme}://bucket/prefix and nothing more; keys go in the "
            "store's own variables, such as AWS_ACCESS_KEY_ID"
        )
    return _bucket(env, text, rules, variables=_ENDPOINTS[parts.scheme])


def _bucket(env: Mapping[str, str], url: str, rules: Operator, *, variables: tuple[str, ...]) -> Archive:
    if find_spec("obstore") is None:
        raise SettingsError(
            f"{EXPORT}: obstore is not installed, which buckets need; "
            "the extra bucket brings it: pip install '.[bucket]'"
        )
    from .bucket import open_bucket  # noqa: PLC0415 - only for who has a bucket

    named = [(name, env[name].strip()) for name in variables if env.get(name, "").strip()]
    variable, endpoint = named[0] if named else (EXPORT, None)
    try:
        return open_bucket(url, endpoint=endpoint, rules=rules)
    except (EgressRefused, ValueError) as error:
        raise SettingsError(f"{variable}: {error}") from error
