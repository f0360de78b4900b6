from __future__ import annotations

import base64
import hashlib
import hmac
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from proctor_alerter.signing import signature_headers, signing_key
from tests.support.repository import ROOT

KEY = bytes(range(32))
AT = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
BODY = '{"category":"Мова"}'


def test_a_signature_is_the_standards() -> None:
    headers = signature_headers(KEY, delivery="d-1", at=AT, body=BODY)
    signed = f"d-1.{int(AT.timestamp())}.{BODY}".encode()
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert headers == {
        "webhook-id": "d-1",
        "webhook-timestamp": str(int(AT.timestamp())),
        "webhook-signature": f"v1,{expected}",
    }


def test_a_receivers_library_accepts_it_and_nothing_that_was_changed() -> None:
    secret = f"whsec_{base64.b64encode(KEY).decode()}"
    headers = signature_headers(signing_key(secret), delivery="d-1", at=datetime.now(UTC), body=BODY)
    receiver = Webhook(secret)
    assert receiver.verify(BODY.encode(), headers) == {"category": "Мова"}
    for body, changed in ((BODY + " ", headers), (BODY, {**headers, "webhook-id": "d-2"})):
        with pytest.raises(WebhookVerificationError):
            receiver.verify(body.encode(), changed)


def test_without_a_key_a_delivery_is_named_and_not_signed() -> None:
    assert set(signature_headers(None, delivery="d-1", at=AT, body=BODY)) == {
        "webhook-id",
        "webhook-timestamp",
    }


@pytest.mark.parametrize("prefix", ["", "whsec_"])
@pytest.mark.parametrize("strip", [False, True])
def test_a_secret_is_read_as_receivers_read_it(prefix: str, *, strip: bool) -> None:
    text = base64.b64encode(KEY).decode()
    assert signing_key(f"{prefix}{text.rstrip('=') if strip else text}") == KEY


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "correct horse battery staple", "парольпарольпароль", "c2hvcnQ="]
)
def test_what_a_library_would_misread_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        signing_key(secret)


def test_the_documented_check_does_what_it_says() -> None:
    page = (ROOT / "docs/alerts.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "docs/alerts.md", "exec"), names)  # noqa: S102 - what readers are told to run
    verified = names["verified"]
    secret = f"whsec_{base64.b64encode(KEY).decode()}"
    headers = signature_headers(KEY, delivery="d-1", at=datetime.now(UTC), body=BODY)
    assert verified(secret, headers, BODY.encode())
    assert not verified(secret, headers, b"other")
    old = signature_headers(KEY, delivery="d-1", at=AT, body=BODY)
    assert not verified(secret, old, BODY.encode())
