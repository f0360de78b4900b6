"""An integration's own alerts: where they may go, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor_api.errors import bad_request
from proctor_chassis.egress.policy import Refusal, check_url
from proctor_chassis.egress.rules import PublicOnly
from proctor_contracts.alerts import AlertSettings
from proctor_contracts.egress import EgressRefused
from proctor_contracts.masking import MASK, masked_url
from proctor_contracts.schemas.common import FieldProblem

__all__ = ["alert_settings", "patched_alerts", "shown_alerts"]

_URL = "alerts.webhookUrl"
_OWN_NETWORK = (
    "an address in a private network is for TESTING_REGRESSION_WEBHOOK_URL, where Proctor is started"
)


def alert_settings(body: AlertSettings | None) -> dict[str, Any] | None:
    """Give an integration's alerts as they are kept, with the address as it was read.

    Names are resolved, and judged again, when something is sent.

    Raises:
        ApiError: 400 for an address that may never be sent to.
    """
    return None if body is None else patched_alerts(None, body)


def patched_alerts(stored: Mapping[str, Any] | None, body: AlertSettings | None) -> dict[str, Any] | None:
    """Change the named fields of an integration's alerts; the others stay, since the address is not shown.

    Raises:
        ApiError: as `alert_settings`.
    """
    if body is None:
        return None
    named = body.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if body.webhook_url is not None:
        named["webhookUrl"] = _public(body.webhook_url)
    return {name: value for name, value in (dict(stored or {}) | named).items() if value is not None}


def shown_alerts(stored: Mapping[str, Any] | None) -> AlertSettings | None:
    """Show an integration's alerts without what may be secret in the address."""
    if stored is None:
        return None
    settings = AlertSettings.model_validate(stored)
    if settings.webhook_url is None:
        return settings
    return settings.model_copy(update={"webhook_url": masked_url(settings.webhook_url)})


def _public(url: str) -> str:
    if MASK in url:
        message = (
            f"holds {MASK}, which answers put in place of what is secret; give the whole address, "
            "or leave the field out to keep the one that is stored"
        )
        raise bad_request([FieldProblem(path=_URL, message=message, code="masked_url")])
    try:
        return str(check_url(PublicOnly(), url).url)
    except EgressRefused as error:
        message = f"{error.reason}; {_OWN_NETWORK}" if error.code == Refusal.NOT_PUBLIC else error.reason
        raise bad_request([FieldProblem(path=_URL, message=message, code=error.code)]) from error
