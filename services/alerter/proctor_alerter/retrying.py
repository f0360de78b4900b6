"""What follows from a try of a delivery: a pure decision on what the receiver did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from proctor_chassis.egress.policy import Refusal

__all__ = ["LONGEST_PAUSE", "PAUSES", "Again", "Delivered", "Failed", "Tried", "Unsendable", "next_step"]

PAUSES = (10, 60, 300, 900, 3_600, 10_800, 21_600)
"""Seconds before each try after the first: somebody who is away for a working day still hears of it."""

LONGEST_PAUSE = 21_600
"""Seconds that a receiver may ask to be left alone."""

SPREAD = 0.2
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class Unsendable:
    """Why there was nothing to send to."""

    NO_ADDRESS = "no_webhook"
    NO_SECRET = "missing_secret"  # noqa: S105 - a code
    BAD_SECRET = "bad_secret"  # noqa: S105 - a code


_FINAL = frozenset({*Refusal, Unsendable.NO_ADDRESS} - {Refusal.UNRESOLVED})
"""Errors that no later try can mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What the receiver did: its status, or the code of what kept it from giving one.

    `retry_after` are the seconds that it asks to be left alone.
    """

    status: int | None = None
    error: str | None = None
    detail: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class Again:
    """It is tried again at a moment."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Failed:
    """It is not tried again: the receiver does not want it, or every try is used up."""


def next_step(tried: Tried, *, tries: int, now: datetime, chance: float) -> Delivered | Again | Failed:
    """Decide after the `tries`-th try; `chance` (0 to 1) spreads receivers that failed together."""
    if tried.status is not None and HTTPStatus.OK <= tried.status < HTTPStatus.MULTIPLE_CHOICES:
        return Delivered()
    if not _passes(tried) or tries > len(PAUSES):
        return Failed()
    pause = PAUSES[tries - 1] * (1 + SPREAD * chance)
    asked = min(tried.retry_after or 0, LONGEST_PAUSE)
    return Again(now + timedelta(seconds=max(pause, asked)))


def _passes(tried: Tried) -> bool:
    """Whether the same can go well later."""
    if tried.status is None:
        return tried.error not in _FINAL
    return tried.status in _PASSING or tried.status >= HTTPStatus.INTERNAL_SERVER_ERROR
