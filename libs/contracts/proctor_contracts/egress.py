"""The refusal that the egress policy answers with, known to every part that sends requests."""

from __future__ import annotations

__all__ = ["EgressRefused"]


class EgressRefused(Exception):
    """The egress policy does not let a request leave; `code` is stable, `reason` says what to change."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
