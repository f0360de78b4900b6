"""Characters that a workbook's XML cannot carry, or would change, as `_x000D_`; the reader's side too."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["FULL_CELL", "LONGEST_CELL", "cell_length", "escaped", "pieces", "unescaped"]

LONGEST_CELL = 32_767
"""As many UTF-16 units as spreadsheet programs keep of a cell."""

FULL_CELL = 15_000
"""A text that does not fit is cut into pieces of at least this length, the last one aside."""

_ESCAPE = len("_x0000_")
_SURROGATES = range(0xD800, 0xE000)
_WRITTEN = re.compile("_x([0-9A-Fa-f]{4})_")
# Line feeds and tabs survive; a carriage return would come back as a line feed.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def escaped(text: str) -> str:
    """Write a text so that reading it gives the very same."""
    return _UNSAFE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def unescaped(text: str) -> str:
    """Read a text of a cell."""
    if "_x" not in text:
        return text
    return _WRITTEN.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code and code not in _SURROGATES else found[0]


def pieces(text: str) -> Iterator[str]:
    """Cut an escaped text into cells, never inside an escape."""
    while cell_length(text) > LONGEST_CELL:
        end = FULL_CELL + _ESCAPE
        # Of all places where an escape could begin before the end, one that does moves the end there.
        begun = (start for start in range(end - _ESCAPE + 1, end) if _WRITTEN.match(text, start))
        end = next(begun, end)
        yield text[:end]
        text = text[end:]
    yield text


def cell_length(text: str) -> int:
    """Count as spreadsheet programs do, which see an emoji as two characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
