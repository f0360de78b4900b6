"""One try of a delivery over HTTP; whatever goes wrong is an answer, never an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus

import aiohttp

from proctor_chassis.egress import PublicOnly
from proctor_chassis.egress.door import OutgoingDoor, Resolve, system_resolve
from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.alerts import AlertSettings
from proctor_contracts.egress import EgressRefused
from proctor_contracts.masking import without_address
from proctor_llm.retry import parse_retry_after
from proctor_store.repositories.deliveries import Claimed, DeliveryRecord

from .retrying import Tried, Unsendable
from .settings import AlerterSettings
from .signing import signature_headers, signing_key
from .targets import Source, Target, target

__all__ = ["SECONDS", "Sender"]

SECONDS = 10.0
"""What a whole try may take."""

READ_BYTES = 4_096
"""What is read of an answer."""

SHOWN_CHARACTERS = 500
_HEADERS = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "Proctor-Alerter/1"}
_REDIRECTED = "redirects are not followed; set the address to where it leads"


class Sender:
    """Posts deliveries; addresses that users typed go through a door that opens to public ones alone.

    The address and its secret are read from the settings as they are now; the bytes are those of the row.
    """

    def __init__(
        self,
        *,
        settings: AlerterSettings,
        secrets: Secrets,
        redactor: Redactor,
        clock: Callable[[], datetime],
        resolve: Resolve = system_resolve,
        seconds: float = SECONDS,
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._redactor = redactor
        self._clock = clock
        self._seconds = seconds
        self._public = OutgoingDoor(rules=PublicOnly(), resolve=resolve, dns_ttl_seconds=0)
        webhook = settings.webhook
        self._operators = (
            None if webhook is None else OutgoingDoor(rules=webhook.rules, resolve=resolve, dns_ttl_seconds=0)
        )

    def target(self, claimed: Claimed) -> Target | None:
        """Say where a delivery goes now; None when whoever it was for names no address any more."""
        if claimed.delivery.source == Source.ENVIRONMENT:
            return target(self._settings, AlertSettings())
        found = target(self._settings, AlertSettings.model_validate(claimed.alerts or {}))
        return found if found is not None and found.source is Source.INTEGRATION else None

    async def send(self, delivery: DeliveryRecord, to: Target | None) -> Tried:
        """Post a delivery's bytes and say what the receiver did."""
        if to is None:
            return Tried(error=Unsendable.NO_ADDRESS, detail="no webhook is configured any more")
        door = self._public if to.source is Source.INTEGRATION else self._operators
        if door is None:
            return Tried(error=Unsendable.NO_ADDRESS, detail="no webhook is configured any more")
        key = self._key(to)
        if isinstance(key, Tried):
            return key
        headers = _HEADERS | signature_headers(
            key, delivery=str(delivery.id), at=self._clock(), body=delivery.body
        )
        try:
            return await self._post(door, to.url, headers, delivery.body.encode())
        except EgressRefused as error:
            return Tried(error=error.code, detail=self._shown(error.reason, to.url))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return self._broken(error, to.url)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._public.aclose()
        if self._operators is not None:
            await self._operators.aclose()

    def _key(self, to: Target) -> bytes | Tried | None:
        if to.source is Source.ENVIRONMENT:
            return None if self._settings.webhook is None else self._settings.webhook.key
        if to.secret is None:
            return None
        value = self._secrets.find(to.secret)
        if value is None:
            return Tried(error=Unsendable.NO_SECRET, detail=self._secrets.how_to_set(to.secret))
        try:
            return signing_key(value)
        except ValueError as error:
            return Tried(error=Unsendable.BAD_SECRET, detail=f"{to.secret}: {error}")

    async def _post(self, door: OutgoingDoor, url: str, headers: Mapping[str, str], body: bytes) -> Tried:
        """Post; once there is a status, what is the matter with the rest of the answer does not count."""
        status: int | None = None
        kept: Mapping[str, str] = {}
        read = b""
        try:
            async with (
                asyncio.timeout(self._seconds),
                door.request("POST", url, headers=headers, data=body) as response,
            ):
                status, kept = response.status, response.headers
                async for chunk in response.content.iter_any():
                    read += chunk[: READ_BYTES - len(read)]
                    if len(read) >= READ_BYTES:
                        break
                # What is left of a long answer is not waited for.
                response.close()
        except (aiohttp.ClientError, OSError):
            if status is None:
                raise
        return self._answered(status, kept, self._shown(read.decode("utf-8", "replace"), url) or None)

    def _answered(self, status: int | None, headers: Mapping[str, str], said: str | None) -> Tried:
        if status is not None and HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            said = _REDIRECTED
        after = parse_retry_after(headers.get("Retry-After"), now=self._clock())
        return Tried(status=status, detail=said, retry_after=after)

    def _broken(self, error: aiohttp.ClientError | OSError | ValueError, url: str) -> Tried:
        """Name what broke; the more special classes come first, since they share their bases."""
        match error:
            case aiohttp.ClientSSLError():
                code = "tls_failed"
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
                code = "unreachable"
            case TimeoutError():
                return Tried(error="timeout", detail=f"no answer within {self._seconds:g} s")
            case aiohttp.InvalidURL() | ValueError():
                # Its text would hold the whole address.
                return Tried(error="bad_url", detail="the request cannot be sent to this address")
            case _:
                code = "connection_broken"
        return Tried(error=code, detail=self._shown(str(error), url) or type(error).__name__)

    def _shown(self, text: str, url: str) -> str:
        """Keep of a text what may be told: whoever reads it need not know the address that it came from."""
        text = without_address(self._redactor.text(text.replace("\x00", "\ufffd").strip()), url)
        return text[:SHOWN_CHARACTERS]
