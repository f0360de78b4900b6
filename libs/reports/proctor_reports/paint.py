"""Terminal colours, applied only where they are wanted."""

from __future__ import annotations

__all__ = ["Paint"]

_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Paint:
    """Wrap text in colour codes, or leave it alone when colours are off."""

    def __init__(self, enabled: bool) -> None:  # noqa: FBT001 - one switch, named at every call by its variable
        self._enabled = enabled

    def __call__(self, text: str, color: str) -> str:
        """Colour a text."""
        return self._wrapped(text, _CODES[color])

    def bold(self, text: str) -> str:
        """Make a text bold."""
        return self._wrapped(text, "1")

    def dim(self, text: str) -> str:
        """Make a text recede."""
        return self._wrapped(text, "2")

    def _wrapped(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._enabled and text else text
