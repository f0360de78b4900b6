"""How steady a case is over the trials of its history."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Stability"]


class Stability(StrEnum):
    """What a case's history says of it; below five trials nothing."""

    UNKNOWN = "unknown"
    STABLE_PASS = "stable_pass"  # noqa: S105 - no password
    STABLE_FAIL = "stable_fail"
    FLAKY = "flaky"
