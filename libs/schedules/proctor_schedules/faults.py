"""What a clock that cannot be is refused with."""

from __future__ import annotations

from typing import Literal

__all__ = ["CRON", "ZONE", "FaultCode", "ScheduleFault"]

CRON = "cronExpression"
ZONE = "timezone"

FaultCode = Literal[
    "cron_field_count",
    "cron_not_supported",
    "cron_value",
    "cron_range",
    "cron_step",
    "cron_never",
    "cron_too_often",
    "timezone_unknown",
]


class ScheduleFault(ValueError):
    """An expression or a time zone that cannot be used; `field` is its name on the wire.

    The message says what is wrong and what to write instead.
    """

    def __init__(self, code: FaultCode, message: str, *, field: str = CRON) -> None:
        super().__init__(message)
        self.code: FaultCode = code
        self.field = field
