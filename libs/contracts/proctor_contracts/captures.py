"""Conversations from production, as they are pushed: the same fields over REST and on the bus."""

from __future__ import annotations

import re
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from .base import Json, SafeText, Wire
from .cases import Tag
from .transcript import TranscriptEntry

__all__ = ["TRANSCRIPT_LIMIT", "CaptureFields", "CapturedEntry", "ExternalId", "FlaggedReason", "mended"]

TRANSCRIPT_LIMIT = 768 * 1024
"""Bytes of JSON that one captured transcript may have."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# A pair of surrogates and an escaped backslash are read as units, so that what is left over is alone.
_ESCAPES = re.compile(
    rb"\\(?:"
    rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<broken>u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2}))"
    rb"|.)",
    re.DOTALL,
)


def mended(body: bytes) -> bytes:
    """Write U+FFFD where a JSON text has an escaped NUL or lone surrogate, which no database holds.

    Bots say such things; the six characters of an escaped escape stay as they are.
    """
    if b"\\u" not in body:
        return body
    return _ESCAPES.sub(lambda found: rb"\ufffd" if found["broken"] else found[0], body)


def _unbroken(text: str) -> str:
    if _REPLACEMENT in text:
        raise ValueError("contains U+FFFD, the mark of broken text: two broken ids could be taken for one")
    return text


ExternalId = Annotated[SafeText, AfterValidator(_unbroken), Field(min_length=1, max_length=256)]
"""What the conversation is called where it was had; pushing it again changes nothing."""

FlaggedReason = Annotated[SafeText, Field(max_length=8_000)]
"""What went wrong, in the words of who noticed."""


class CapturedEntry(TranscriptEntry):
    """One message; a null content is an empty one, as of a reply that is only tool calls."""

    content: Annotated[str, BeforeValidator(lambda value: "" if value is None else value)] = ""


class CaptureFields(Wire):
    """A conversation that somebody should look at."""

    integration_id: UUID
    external_id: ExternalId | None = None
    transcript: Annotated[tuple[CapturedEntry, ...], Field(min_length=1, max_length=1_000)]
    metadata: dict[str, Json] | None = None
    tags: Annotated[tuple[Tag, ...], Field(max_length=100)] = ()
    flagged_reason: FlaggedReason | None = None
