"""Comparing what people type: letter case, invisible characters and kinds of dashes do not count."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["INVISIBLE", "comparable", "label", "lookalike", "trimmed"]

INVISIBLE = "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
# Joiners and marks of direction mean something inside a word; these do not.
_MEANINGLESS = re.compile("[\u00ad\u180e\u200b\u2060\ufeff]")
_SPACES = re.compile(r"\s+")
_APOSTROPHES = re.compile("['`´‘’ʼʹ′]")  # noqa: RUF001 - these are what is compared
_DASHES = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")
_CYRILLIC = "авсенікмортухһѕјԁԛԝ"
_LATIN = str.maketrans(_CYRILLIC, "abcehikmoptyxhsjdqw")


def trimmed(text: str) -> str:
    """Cut white space and invisible characters from both ends, and compose accents (NFC)."""
    before = None
    while before != text:
        before, text = text, text.strip().strip(INVISIBLE)
    return unicodedata.normalize("NFC", text)


def label(text: str) -> str:
    """Write what cases are told apart by as it looks: one space between words, nothing invisible in them."""
    return _SPACES.sub(" ", trimmed(_MEANINGLESS.sub("", text)))


def comparable(text: str) -> str:
    """Fold a header or a choice to the form in which it is compared."""
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    folded = _APOSTROPHES.sub("'", folded)
    return _DASHES.sub(" ", folded).strip(" :*.?!")


def lookalike(text: str) -> str:
    """Fold letters that look the same in Cyrillic and Latin, and letter case, into one."""
    return comparable(text).translate(_LATIN)
