"""Handing a model text that is data: inside a fence named by a nonce that the text cannot know or close."""

from __future__ import annotations

import json
import random
import re

from proctor_contracts.base import Json

__all__ = ["escaped", "fenced", "new_nonce"]

_NONCE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_NONCE_LENGTH = 8

_ESCAPED = re.compile(
    "[<"
    "\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
"""Besides what JSON escapes itself: the fence's bracket, line separators, controls of direction, and every
character that is read by a model and shown to nobody (zero-width, fillers, tags, variation selectors)."""


def new_nonce(rng: random.Random, text: str) -> str:
    """Make a nonce that does not stand in the text, which must exist before it."""
    while True:
        nonce = "".join(rng.choices(_NONCE_LETTERS, k=_NONCE_LENGTH))
        if nonce not in text:
            return nonce


def fenced(value: Json) -> str:
    """Write one JSON value on one line, with all escaped that could leave the fence or hide inside it."""
    return escaped(json.dumps(value, ensure_ascii=False))


def escaped(text: str) -> str:
    """Write every character that could close the fence or hide as JSON escapes it."""
    return _ESCAPED.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code > 0xFFFF:  # noqa: PLR2004 - JSON writes what lies beyond this as two surrogates
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"
