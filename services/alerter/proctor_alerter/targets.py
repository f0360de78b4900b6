"""Whom an integration tells: what its own settings say over what the environment says."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from yarl import URL

from proctor_chassis.egress.rules import host_key
from proctor_contracts.alerts import AlertKind, AlertSettings, WebhookFormat
from proctor_contracts.masking import masked_url

__all__ = ["Operator", "Policy", "Source", "Target", "format_for", "policy", "target"]

_SLACK = ("hooks.slack.com", "hooks.slack-gov.com")
_ALWAYS = frozenset(
    {AlertKind.REGRESSION, AlertKind.EXECUTION_FAILURES, AlertKind.RECOVERY, AlertKind.GATE_FAILURES}
)
"""What is told unless the integration is muted; all else by choice."""


class Source(StrEnum):
    """Who named a webhook's address: the operator, or a user for one integration."""

    ENVIRONMENT = "environment"
    INTEGRATION = "integration"


class Address(Protocol):
    """An address with the form it wants."""

    @property
    def url(self) -> str:
        """Where to send."""
        ...

    @property
    def format(self) -> WebhookFormat:
        """In which form."""
        ...


class Operator(Protocol):
    """What the environment says."""

    @property
    def webhook(self) -> Address | None:
        """Where everything goes that no integration has an address of its own for."""
        ...

    @property
    def delta(self) -> float:
        """Points that a category has to fall."""
        ...

    @property
    def lookback(self) -> int:
        """Runs before that it is compared with."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send; whoever named the address also names the secret, by reference where a user did."""

    source: Source
    url: str = field(repr=False)
    format: WebhookFormat
    secret: str | None = None

    @property
    def shown(self) -> str:
        """The address without what may be secret in it."""
        return masked_url(self.url)


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one integration: points and runs of its looks, whom to tell, and of what."""

    delta: float
    lookback: int
    target: Target | None
    asked_for: Collection[AlertKind]
    muted: bool

    def wants(self, kind: AlertKind) -> bool:
        """Whether alerts of this kind are sent at all."""
        return kind in self.asked_for


def format_for(url: str) -> WebhookFormat:
    """Say how an address wants to be told when nobody says it: Slack's own reads text, all others JSON."""
    return WebhookFormat.SLACK if host_key(URL(url).host or "") in _SLACK else WebhookFormat.JSON


def policy(operator: Operator, own: AlertSettings | None) -> Policy:
    """Lay an integration's own alerts over the operator's."""
    own = own or AlertSettings()
    return Policy(
        delta=operator.delta if own.delta is None else own.delta,
        lookback=operator.lookback if own.lookback is None else own.lookback,
        target=target(operator, own),
        asked_for=_ALWAYS | {AlertKind(kind) for kind in own.tell or ()},
        muted=own.muted,
    )


def target(operator: Operator, own: AlertSettings) -> Target | None:
    """Say where an integration's alerts go; None when nobody named an address.

    An address that a user named is signed with the secret that the user named or not at all: the operator's
    secret would vouch for it.
    """
    if own.webhook_url is not None:
        return Target(
            Source.INTEGRATION,
            own.webhook_url,
            own.webhook_format or format_for(own.webhook_url),
            None if own.webhook_secret is None else own.webhook_secret.secret,
        )
    if operator.webhook is None:
        return None
    return Target(Source.ENVIRONMENT, operator.webhook.url, own.webhook_format or operator.webhook.format)
