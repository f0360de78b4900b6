"""The word that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection

__all__ = ["suggestion"]


def suggestion(given: str, known: Collection[str]) -> str:
    """Name the closest known word, or all of them when none is close."""
    folded = {word.casefold().replace("_", ""): word for word in known}
    if close := difflib.get_close_matches(given.casefold().replace("_", ""), folded, n=1, cutoff=0.6):
        return f"did you mean {folded[close[0]]}?"
    return f"known are {', '.join(sorted(known))}" if known else "none is known here"
