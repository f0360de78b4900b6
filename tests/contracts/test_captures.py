"""Captured conversations as strangers write them: broken text is mended, broken JSON is not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from proctor_contracts.captures import mended
from proctor_contracts.messages import CaptureRecorded

INTEGRATION = "018f6b1e-0000-7000-8000-000000000005"


def event(content: str) -> bytes:
    """An event whose one message is this JSON text."""
    body = {
        "integrationId": INTEGRATION,
        "externalId": "c-1",
        "transcript": [{"role": "agent", "content": "@"}],
    }
    return json.dumps(body).replace('"@"', content).encode()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'"ок\u0000"', "ок\ufffd"),
        (r'"\ud800"', "\ufffd"),
        (r'"\udfff\ud83d"', "\ufffd\ufffd"),
        (r'"\ud83d\ude42"', "🙂"),
        (r'"\uD83D\uDE42"', "🙂"),
        (r'"\ud83d\ud83d\ude42"', "\ufffd🙂"),
        (r'"\\u0000 \\ud800"', r"\u0000 \ud800"),
        (r'"\\\u0000"', "\\\ufffd"),
        (r'"\"\ud800\""', '"\ufffd"'),
        (r'"\ufffd"', "\ufffd"),
        ("null", ""),
    ],
)
def test_broken_text_is_read_as_replacement_characters(written: str, read: str) -> None:
    assert CaptureRecorded.read(event(written)).transcript[0].content == read


@given(st.text(alphabet=st.characters() | st.sampled_from('\\"u0d8\x00\ud800\udc00')))
def test_any_text_that_python_writes_is_read(text: str) -> None:
    found = CaptureRecorded.read(event(json.dumps(text))).transcript[0].content
    whole = json.loads(json.dumps(text))  # a pair of surrogates, written apart, is one character
    assert found == "".join(
        "\ufffd" if one == "\x00" or "\ud800" <= one <= "\udfff" else one for one in whole
    )


def test_what_is_not_broken_is_left_as_it_is() -> None:
    body = json.dumps({"a": 'ґ\n\t"\\ 🙂'}).encode()
    assert mended(body) == body
    assert mended(b"\xff\\") == b"\xff\\"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"[1]", b"\xff", b"{" * 10_000, event('"a\x00b"'), event("7"),
        event('"x"').replace(b"agent", b"nobody"), event('"x"').replace(b"c-1", b""),
        event('"x"').replace(b"c-1", rb"c\u0000"), event('"x"').replace(INTEGRATION.encode(), b"my-bot"),
        event('"x"').replace(b'"externalId": "c-1", ', b""),
    ],
)  # fmt: skip
def test_what_says_too_little_is_refused(body: bytes) -> None:
    with pytest.raises(ValidationError):
        CaptureRecorded.read(body)


def test_a_field_of_the_future_is_ignored_and_the_source_is_sofa() -> None:
    read = CaptureRecorded.read(event('"x"').replace(b'{"integrationId"', b'{"mood": 1, "integrationId"'))
    assert (read.source, read.id()) == ("sofa", f"{INTEGRATION}:c-1")
