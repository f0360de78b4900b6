"""Identifiers: time-ordered UUIDv7 for rows, deterministic strings for jobs."""

from __future__ import annotations

import os
import threading
import time
from uuid import UUID

__all__ = ["job_id", "judge_job_id", "new_id"]

_lock = threading.Lock()
_last: tuple[int, int] = (0, 0)
_COUNTER_MAX = 0xFFF


def new_id() -> UUID:
    """Make a UUIDv7 (RFC 9562) that grows within a process, so lists page stably by id.

    The 12 bits after the millisecond are a counter: ids made in one millisecond keep their order.
    """
    global _last  # noqa: PLW0603 - the counter is what keeps ids of one process in order
    with _lock:
        millis, count = time.time_ns() // 1_000_000, 0
        if millis <= _last[0]:
            millis, count = _last[0], _last[1] + 1
            if count > _COUNTER_MAX:
                millis, count = millis + 1, 0
        _last = (millis, count)
    random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    return UUID(int=(millis & ((1 << 48) - 1)) << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | random)


def job_id(run: UUID, case: UUID, trial: int, attempt: int) -> str:
    """Name a case job; the same on every redelivery. A graded retry is a new attempt, a delivery is not."""
    return f"{run}:{case}:{trial}:{attempt}"


def judge_job_id(run: UUID, case: UUID, trial: int, attempt: int) -> str:
    """Name the judging of one attempt."""
    return f"{job_id(run, case, trial, attempt)}:judge"
