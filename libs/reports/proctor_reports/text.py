"""Foreign text made safe to show: what bots and users write is hostile input to terminals and files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["cells", "clip", "one_line", "pad", "storable", "visible", "wrap"]

REPLACEMENT = "\ufffd"
_C0_PICTURES = 0x2400
_DEL, _DEL_PICTURE = 0x7F, "\u2421"
# Controls, bidirectional overrides (they reorder what a reader sees), line separators, lone surrogates,
# byte-order marks, invisible tags, non-characters. Tab and newline stay, and joiners, since emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_ILLEGAL_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACES = re.compile(r"\s+")


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == _DEL:
        return _DEL_PICTURE
    return chr(_C0_PICTURES + code) if code < ord(" ") else REPLACEMENT


def visible(text: str) -> str:
    """Show what would act on a terminal or hide from a reader, as its picture, else U+FFFD."""
    return _HIDDEN.sub(_picture, text.replace("\r\n", "\n"))


def storable(text: str) -> str:
    """Replace what XML 1.0 and UTF-8 cannot hold by U+FFFD."""
    return _ILLEGAL_XML.sub(REPLACEMENT, text)


def one_line(text: str, limit: int = 300) -> str:
    """Make a text visible, put it on one line and cut it to `limit` characters."""
    line = _SPACES.sub(" ", visible(text[: limit * 4])).strip()
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1].rstrip() + "…"


def _width(char: str) -> int:
    if unicodedata.combining(char) or char in "\u200b\u200c\u200d\u2060\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cells(text: str) -> int:
    """Count the terminal columns a one-line text takes: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def clip(text: str, width: int) -> str:
    """Cut a one-line text to at most `width` columns, an ellipsis included."""
    if cells(text) <= width:
        return text
    used, kept = 1, []
    for char in text:
        used += _width(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…" if width > 0 else ""


def pad(text: str, width: int) -> str:
    """Fill a one-line text with spaces up to `width` columns."""
    return text + " " * (width - cells(text))


def wrap(text: str, width: int) -> Iterator[str]:
    """Break a one-line text at spaces into lines of at most `width` columns; a longer word is cut."""
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if cells(candidate) <= width:
            line = candidate
            continue
        if line:
            yield line
        line = word
        while cells(line) > width > 1:
            head = clip(line, width)[:-1] or line[0]
            yield head
            line = line[len(head) :]
    if line:
        yield line
