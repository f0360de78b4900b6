"""Whether a case runs again, and what its attempts add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from proctor_contracts.enums import ResultStatus, RetryPolicy

__all__ = ["Again", "Done", "next_step"]


@dataclass(frozen=True, slots=True)
class Again:
    """Run the case once more, as this attempt (from 1)."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Done:
    """The case is finished.

    `deciding_attempt` (from 1) is the one whose score and transcript the result shows.
    """

    status: ResultStatus
    flaky: bool
    attempt_count: int
    deciding_attempt: int


def next_step(policy: RetryPolicy, retries_on_failure: int, attempts: Sequence[ResultStatus]) -> Again | Done:
    """Decide after an attempt; `attempts` are the final statuses so far, oldest first, at least one.

    `any`: a failed case runs again until it passes or its retries are used up. `none`: one attempt. `all`:
    every attempt runs, and all must pass. An error is never retried here; an error in a retry leaves the
    verdict of the attempts that were graded.
    """
    last = attempts[-1]
    if last is ResultStatus.CANCELLED:
        return Done(last, flaky=False, attempt_count=len(attempts), deciding_attempt=len(attempts))
    more = len(attempts) <= retries_on_failure and last is not ResultStatus.ERROR
    match policy:
        case RetryPolicy.NONE:
            more = False
        case RetryPolicy.ANY:
            more = more and last is ResultStatus.FAILED
        case RetryPolicy.ALL:
            pass
        case _:
            assert_never(policy)
    if more:
        return Again(len(attempts) + 1)
    return _finished(policy, attempts)


def _finished(policy: RetryPolicy, attempts: Sequence[ResultStatus]) -> Done:
    passes, fails = (
        [number for number, status in enumerate(attempts, 1) if status is wanted]
        for wanted in (ResultStatus.PASSED, ResultStatus.FAILED)
    )
    mixed = bool(passes and fails)
    count = len(attempts)
    if policy is RetryPolicy.ALL and fails:
        return Done(ResultStatus.FAILED, mixed, count, fails[0])
    if policy is RetryPolicy.ALL and len(passes) < count:
        return Done(ResultStatus.ERROR, flaky=False, attempt_count=count, deciding_attempt=count)
    if passes:
        return Done(ResultStatus.PASSED, mixed, count, passes[-1])
    if fails:
        return Done(ResultStatus.FAILED, flaky=False, attempt_count=count, deciding_attempt=fails[-1])
    return Done(ResultStatus.ERROR, flaky=False, attempt_count=count, deciding_attempt=count)
