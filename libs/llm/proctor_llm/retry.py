"""When to try again: a pure decision on the error, the try's number and the time left."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import ceil, isfinite

from .errors import LlmError, LlmErrorCode

__all__ = ["GiveUp", "RetryPolicy", "TryAgain", "next_wait", "parse_retry_after"]

_SECONDS = re.compile(r"\d{1,12}(\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently; times in seconds. A `Retry-After` over the cap fails at once."""

    max_tries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 8.0
    retry_after_cap: float = 60.0


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Try again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again; `code` and `message` replace the error's own where they are given."""

    code: LlmErrorCode | None = None
    message: str | None = None


def parse_retry_after(text: str | None, *, now: datetime) -> float | None:
    """Read a Retry-After header into seconds; None when absent, negative or not understood.

    A date is rounded up to whole seconds; one in the past is 0.
    """
    if text is None:
        return None
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    seconds = (at - now).total_seconds()
    return float(max(0, ceil(seconds))) if isfinite(seconds) else None


def next_wait(
    error: LlmError, tries: int, *, now: float, deadline: float, policy: RetryPolicy, rng: random.Random
) -> TryAgain | GiveUp:
    """Decide after the `tries`-th failed try; `now` and `deadline` are on one monotonic clock, in seconds.

    The own backoff doubles from `first_wait` and is spread over its upper half, so that callers that
    failed together do not come back together.
    """
    if not error.retryable:
        return GiveUp()
    asked = error.retry_after
    if asked is not None and asked > policy.retry_after_cap:
        return GiveUp(
            LlmErrorCode.RETRY_AFTER_TOO_LONG,
            f"{error.message}; it asks to wait {asked:.0f} s, the limit is {policy.retry_after_cap:.0f} s",
        )
    if tries >= policy.max_tries:
        return GiveUp(message=f"{error.message} (tried {tries} times)")
    backoff = min(policy.longest_wait, policy.first_wait * 2 ** (tries - 1)) * rng.uniform(0.5, 1.0)
    wait = max(asked or 0.0, backoff)
    if now + wait >= deadline:
        return GiveUp(message=f"{error.message} (tried {tries} times; no time is left to wait {wait:.1f} s)")
    return TryAgain(wait)
