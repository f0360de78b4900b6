"""How texts are made comparable: one Unicode form, one kind of space and line end, one rule for case."""

from __future__ import annotations

import unicodedata

__all__ = ["EXCERPT_LIMIT", "excerpt", "fold", "nfc", "quoted", "storable", "white_folded"]

EXCERPT_LIMIT = 300
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2007": " "})


def nfc(text: str) -> str:
    """Compose a text to NFC."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold(text: str, *, case_insensitive: bool = False) -> str:
    """Fold a text for comparison: NFC, no-break spaces to spaces, line ends to LF, on request letter case.

    Case folding is Unicode's, except that İ folds to i; its own folding, i with a dot above, equals nobody's.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_SPACES)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not case_insensitive:
        return text
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold().replace("i\u0307", "i"))


def white_folded(text: str) -> str:
    """Compose a text and turn every run of white space into one space, ends trimmed."""
    return " ".join(nfc(text).split())


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
