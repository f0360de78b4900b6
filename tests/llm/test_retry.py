from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.enums import Blame
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.retry import GiveUp, RetryPolicy, TryAgain, next_wait, parse_retry_after

NOW = datetime(2026, 10, 21, 7, 27, 30, 400_000, tzinfo=UTC)
POLICY = RetryPolicy(max_tries=4, first_wait=0.5, longest_wait=8.0, retry_after_cap=60.0)


def busy(retry_after: float | None = None, *, retryable: bool = True) -> LlmError:
    return LlmError(
        LlmErrorCode.RATE_LIMITED, "busy", blame=Blame.PROVIDER, retryable=retryable, retry_after=retry_after
    )


def decide(error: LlmError, tries: int = 1, *, deadline: float = 1_000.0, seed: int = 1) -> TryAgain | GiveUp:
    return next_wait(error, tries, now=0.0, deadline=deadline, policy=POLICY, rng=random.Random(seed))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Wed, 21 Oct 2026 07:28:00 GMT", 30.0),
        ("Wed, 21 Oct 2026 07:28:00 -0000", 30.0),
        ("Wed, 21 Oct 2020 07:28:00 GMT", 0.0),
        ("7.5", 7.5),
        (" 2 ", 2.0),
        ("0", 0.0),
        ("86400", 86_400.0),
        ("-3", None),
        ("soon", None),
        ("", None),
        ("1e3", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 99 Foo 2026", None),
        (None, None),
    ],
)
def test_retry_after_is_read_in_seconds_or_as_a_date_rounded_up(
    header: str | None, seconds: float | None
) -> None:
    assert parse_retry_after(header, now=NOW) == seconds


@given(st.text(max_size=40))
def test_any_retry_after_is_read_or_ignored(header: str) -> None:
    found = parse_retry_after(header, now=NOW)
    assert found is None or found >= 0


def test_a_final_error_is_not_tried_again() -> None:
    assert decide(busy(retryable=False)) == GiveUp()


def test_retry_after_is_honoured_when_longer_than_the_own_backoff() -> None:
    assert decide(busy(30.0)) == TryAgain(30.0)


def test_a_retry_after_over_the_cap_fails_at_once_and_says_so() -> None:
    found = decide(busy(86_400.0))
    assert isinstance(found, GiveUp)
    assert found.code is LlmErrorCode.RETRY_AFTER_TOO_LONG
    assert "86400 s" in (found.message or "")


@pytest.mark.parametrize(("tries", "longest"), [(1, 0.5), (2, 1.0), (3, 2.0)])
def test_the_own_backoff_doubles_and_is_spread_over_its_upper_half(tries: int, longest: float) -> None:
    waits = [decide(busy(), tries, seed=seed) for seed in range(50)]
    seconds = [one.seconds for one in waits if isinstance(one, TryAgain)]
    assert len(seconds) == 50
    assert all(longest / 2 <= one <= longest for one in seconds)
    assert len(set(seconds)) > 10


def test_the_last_try_is_the_last() -> None:
    found = decide(busy(), 4)
    assert isinstance(found, GiveUp)
    assert "tried 4 times" in (found.message or "")


def test_no_wait_goes_past_the_deadline() -> None:
    found = decide(busy(30.0), deadline=30.0)
    assert isinstance(found, GiveUp)
    assert "no time is left" in (found.message or "")


@given(st.floats(0, 1e6) | st.none(), st.integers(1, 10), st.floats(0, 100), st.integers(0, 1_000))
def test_a_wait_always_ends_before_the_deadline_and_under_the_cap(
    asked: float | None, tries: int, deadline: float, seed: int
) -> None:
    match decide(busy(asked), tries, deadline=deadline, seed=seed):
        case TryAgain(seconds=seconds):
            assert 0 < seconds < deadline
            assert seconds <= max(POLICY.retry_after_cap, POLICY.longest_wait)
            assert seconds >= (asked or 0)
        case GiveUp():
            assert tries >= POLICY.max_tries or (asked or 0) > POLICY.retry_after_cap or deadline <= 60.0
