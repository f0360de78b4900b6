"""What happens to a message whose handler failed: a pure decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from proctor_contracts.topology import Delay

from .errors import BusUnavailable, Permanent, RetryLater

__all__ = ["Dead", "Later", "RetryPolicy"]

PATIENT_AFTER = 3
"""An outage is retried at the shortest delay this many times, then at the second: no storm of retries."""


@dataclass(frozen=True, slots=True)
class Later:
    """Deliver again after a rung of the ladder, with this many failures on record."""

    delay: Delay
    failures: int


@dataclass(frozen=True, slots=True)
class Dead:
    """Give up, for a reason with a stable code; `detail` is for the log."""

    reason: str
    detail: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a message may fail before it is given up: the third failure is the last by default."""

    max_failures: int = 3

    def next(  # noqa: PLR0911 - one return for each row of the table
        self, error: BaseException, *, delivery: int, failures: int, ladder: Sequence[Delay]
    ) -> Later | Dead:
        """Decide for one failed delivery; `failures` are the counted ones before it, `ladder` ascends."""
        match error:
            case Permanent(code=code):
                return Dead(f"permanent:{code}")
            case ValidationError():
                return Dead("permanent:validation_error")
            case RetryLater(counted=False, after=after):
                return Later(_outage_rung(ladder, delivery=delivery, after=after), failures)
            case BusUnavailable() | ConnectionError():
                return Later(_outage_rung(ladder, delivery=delivery, after=None), failures)
            case _ if failures + 1 >= self.max_failures:
                return Dead("retries_exhausted")
            case RetryLater(after=float() | int() as after):
                return Later(_rung_of(ladder, after), failures + 1)
            case _:
                return Later(ladder[min(failures, len(ladder) - 1)], failures + 1)


def _outage_rung(ladder: Sequence[Delay], *, delivery: int, after: float | None) -> Delay:
    if after is not None:
        return _rung_of(ladder, after)
    return ladder[0] if delivery <= PATIENT_AFTER else ladder[min(1, len(ladder) - 1)]


def _rung_of(ladder: Sequence[Delay], seconds: float) -> Delay:
    return next((delay for delay in ladder if delay.seconds >= seconds), ladder[-1])
