"""Integrations, their handlers, and API keys over REST."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import AfterValidator, Field

from proctor_contracts.alerts import AlertSettings
from proctor_contracts.base import SafeText, Strict, Wire
from proctor_contracts.effects import HandlerEffect
from proctor_contracts.endpoint import HttpEndpoint, SecretRef, checked_headers
from proctor_contracts.enums import KeyKind, Provider

from .common import Timestamp

__all__ = [
    "HandlerCreate",
    "HandlerPatch",
    "HandlerView",
    "IntegrationCreate",
    "IntegrationFields",
    "IntegrationPatch",
    "IntegrationView",
    "KeyCreate",
    "KeyCreated",
    "KeyView",
]

IntegrationName = Annotated[SafeText, AfterValidator(str.strip), Field(min_length=1, max_length=128)]
Prompt = Annotated[SafeText, Field(max_length=262_144)]
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_UNSENDABLE = re.compile(r"[\x00-\x20\x7f\\]")


def _callable_url(url: str) -> str:
    """Give a handler's URL back: absolute, a path under the core's address, or nothing.

    Raises:
        ValueError: for what could not be called, or means different places to different readers.
    """
    url = url.strip()
    if _UNSENDABLE.search(url):
        raise ValueError("holds a space, a backslash or a control character; percent-encode it")
    if url.startswith("//") or (_SCHEME.match(url) and not url.lower().startswith(("http://", "https://"))):
        raise ValueError("is neither an absolute http:// or https:// URL nor a path such as orders/find")
    if not _SCHEME.match(url):
        return url
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"cannot be read: {error}") from error
    if not parts.hostname or port == 0:
        raise ValueError("names no host and port that could be called")
    if "@" in parts.netloc:
        raise ValueError("holds a user or password; send credentials in a header, as {secret: NAME}")
    return url


HandlerUrl = Annotated[SafeText, AfterValidator(_callable_url), Field(max_length=2_048)]
HandlerHeaders = Annotated[dict[str, SafeText | SecretRef], AfterValidator(checked_headers)]
Model = Annotated[SafeText, Field(min_length=1, max_length=256)]


class IntegrationFields(Strict):
    """A deployed bot: how to reach it and what it was told."""

    name: IntegrationName
    agent_prompt: Prompt = ""
    platform_assistant_id: Annotated[SafeText, Field(max_length=256)] | None = None
    provider: Provider = Provider.HTTP
    model: Model | None = None
    endpoint: HttpEndpoint | None = None
    locale: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] | None = None


class IntegrationCreate(IntegrationFields):
    """A deployed bot, and whom to alert when it gets worse."""

    alerts: AlertSettings | None = None


class IntegrationPatch(Strict):
    """Named fields change, those of `alerts` too; an explicit null clears a nullable one."""

    name: IntegrationName | None = None
    agent_prompt: Prompt | None = None
    platform_assistant_id: Annotated[SafeText, Field(max_length=256)] | None = None
    provider: Provider | None = None
    model: Model | None = None
    endpoint: HttpEndpoint | None = None
    locale: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] | None = None
    alerts: AlertSettings | None = None


class IntegrationView(Wire):
    """An integration as stored; secrets stay references, and `alerts.webhookUrl` hides what may be one."""

    id: UUID
    name: str
    agent_prompt: str
    platform_assistant_id: str | None
    provider: Provider
    model: str | None
    endpoint: HttpEndpoint | None
    locale: str | None
    alerts: AlertSettings | None = None
    created_at: Timestamp
    updated_at: Timestamp


class HandlerCreate(Strict):
    """A tool of the bot. An unset `isSideEffect` counts as a side effect."""

    name: Annotated[SafeText, Field(min_length=1, max_length=256)]
    description: Annotated[SafeText, Field(max_length=4_000)] | None = None
    url: HandlerUrl = ""
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: HandlerHeaders = Field(default_factory=dict)
    body: Any = None
    parameters_schema: dict[str, Any] | None = None
    is_side_effect: bool | None = None
    effect: HandlerEffect | None = None


class HandlerPatch(Strict):
    """Named fields change; an explicit null clears a nullable one."""

    name: Annotated[SafeText, Field(min_length=1, max_length=256)] | None = None
    description: Annotated[SafeText, Field(max_length=4_000)] | None = None
    url: HandlerUrl | None = None
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = None
    headers: HandlerHeaders | None = None
    body: Any = None
    parameters_schema: dict[str, Any] | None = None
    is_side_effect: bool | None = None
    effect: HandlerEffect | None = None


class HandlerView(Wire):
    """A handler as stored."""

    id: UUID
    integration_id: UUID
    name: str
    description: str | None
    url: str
    method: str
    headers: dict[str, Any]
    body: Any
    parameters_schema: dict[str, Any] | None
    is_side_effect: bool | None
    effect: HandlerEffect | None = None
    created_at: Timestamp
    updated_at: Timestamp


class KeyCreate(Strict):
    """Ask for a key; it is shown once."""

    kind: KeyKind = KeyKind.PRIVATE
    name: Annotated[SafeText, Field(min_length=1, max_length=128)] = "key"


class KeyView(Wire):
    """A key without its secret."""

    id: UUID
    kind: KeyKind
    name: str
    prefix: str
    created_at: Timestamp
    last_used_at: Timestamp | None = None


class KeyCreated(KeyView):
    """The one time a key is shown whole."""

    key: str
