"""How texts are made comparable: one Unicode form, one kind of space and line end, one rule for case."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "EXCERPT_LIMIT",
    "blank",
    "excerpt",
    "fold",
    "nfc",
    "quoted",
    "storable",
    "visible",
    "white_folded",
]

EXCERPT_LIMIT = 300
# What is printed alike: every kind of space, and the joined letters of a printed page.
_ALIKE = str.maketrans(
    dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000", " ")
    | dict.fromkeys(map(chr, range(0x2000, 0x200B)), " ")
    | {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
# Soft hyphens, zero-width characters, marks of direction, variation selectors, tags: nobody sees them.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u115f\u1160\u2800\u3164\uffa0]*")


def nfc(text: str) -> str:
    """Compose a text to NFC."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def visible(text: str) -> str:
    """Leave out the characters that nobody sees."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def blank(text: str) -> bool:
    """Whether a text shows nothing at all: white space, controls, invisible characters."""
    return _BLANK.fullmatch(visible(text)) is not None


def fold(text: str, *, case_insensitive: bool = False) -> str:
    """Fold a text for comparison: what looks the same is the same, on request also in letter case.

    NFC, every kind of space as a space, joined Latin letters apart, line ends as LF, what is invisible left
    out. Case folding is Unicode's, except that İ folds to i; its own folding, i with a dot above, equals
    nobody's.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", visible(text)).translate(_ALIKE)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not case_insensitive:
        return text
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold().replace("i\u0307", "i"))


def white_folded(text: str) -> str:
    """Compose what is visible of a text and turn every run of white space into one space, ends trimmed."""
    return " ".join(nfc(visible(text)).split())


def storable(text: str) -> str:
    """Replace lone surrogates with U+FFFD and join paired ones."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def excerpt(text: str, at: int = 0, limit: int = EXCERPT_LIMIT) -> str:
    """Cut a window of at most `limit` characters around position `at`, an ellipsis where text is left out."""
    if len(text) <= limit:
        return storable(text).replace("\x00", "\ufffd")
    room = limit - 2
    start = max(0, min(at - room // 3, len(text) - room))
    end = start + room
    cut = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    return storable(cut).replace("\x00", "\ufffd")


def quoted(text: str, limit: int = 80) -> str:
    """Show a text inside a sentence: quoted and short."""
    return f'"{excerpt(text, limit=limit)}"'
