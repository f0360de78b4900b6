"""Signatures of Standard Webhooks: how a receiver knows who wrote a body, and that nobody changed it."""

from __future__ import annotations

import binascii
from base64 import b64decode
from datetime import datetime

from standardwebhooks import Webhook

__all__ = ["SHORTEST_KEY", "signature_headers", "signing_key"]

SHORTEST_KEY = 16
"""Bytes of a key; the standard recommends 24 to 64."""

_PREFIX = "whsec_"


def signing_key(secret: str) -> bytes:
    """Read a secret as receivers' libraries do: base64, with or without `whsec_` before it.

    Raises:
        ValueError: when it is something else or too short; a library would read it as some other key.
    """
    text = secret.strip().removeprefix(_PREFIX)
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(_wrong("is not base64")) from None
    if len(key) < SHORTEST_KEY:
        raise ValueError(_wrong(f"is shorter than {SHORTEST_KEY} bytes"))
    return key


def signature_headers(key: bytes | None, *, delivery: str, at: datetime, body: str) -> dict[str, str]:
    """Name the delivery and the time of this try, and sign both with the body where there is a key."""
    headers = {"webhook-id": delivery, "webhook-timestamp": str(int(at.timestamp()))}
    if key is not None:
        headers["webhook-signature"] = Webhook(key).sign(delivery, at, body)
    return headers


def _wrong(what: str) -> str:
    return f"the secret {what}; make one with: echo whsec_$(openssl rand -base64 32)"
