"""What of a configuration cannot be carried over."""

from __future__ import annotations

__all__ = ["Unportable"]


class Unportable(Exception):
    """A part without a counterpart, with the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
