"""Names and refs for cases whose file gives them none."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence

__all__ = ["Refs", "short_name"]

_NAME = 80


def short_name(text: str) -> str:
    """Make a case's name of what its user says: one line, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= _NAME:
        return line
    head = line[: _NAME - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head) + "…"


class Refs:
    """Derives refs from what cases say, the same at every import; equal ones of one file are numbered."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._seen: dict[str, int] = {}

    def derive(self, *parts: str) -> str:
        """Make the ref of a case that says `parts`."""
        text = "\0".join(unicodedata.normalize("NFC", part).strip() for part in parts)
        return self.numbered(f"{self._prefix}-{hashlib.sha256(text.encode()).hexdigest()[:10]}")

    def numbered(self, ref: str) -> str:
        """Put a number behind a ref that stands in the file already."""
        count = self._seen[ref] = self._seen.get(ref, 0) + 1
        return ref if count == 1 else f"{ref}-{count}"

    @staticmethod
    def fitting(values: Sequence[object]) -> str | None:
        """Choose the first text or number that can be a ref as it is."""
        for value in values:
            if isinstance(value, str | int) and not isinstance(value, bool):
                text = unicodedata.normalize("NFC", str(value)).strip()
                if 0 < len(text) <= 64:  # noqa: PLR2004 - the longest ref
                    return text
        return None
