from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from proctor_chassis.bus.errors import BusUnavailable, Permanent, RetryLater
from proctor_chassis.bus.retry import Dead, Later, RetryPolicy
from proctor_contracts.topology import RETRY_LADDER

SHORT, MIDDLE, LONG = RETRY_LADDER
POLICY = RetryPolicy()


def a_validation_error() -> ValidationError:
    class Number(BaseModel):
        value: int

    with pytest.raises(ValidationError) as raised:
        Number.model_validate({"value": "x"})
    return raised.value


def decide(error: BaseException, *, delivery: int = 1, failures: int = 0) -> Later | Dead:
    return POLICY.next(error, delivery=delivery, failures=failures, ladder=RETRY_LADDER)


def test_failures_climb_the_ladder_until_the_third() -> None:
    assert decide(ValueError(), failures=0) == Later(SHORT, 1)
    assert decide(TimeoutError(), failures=1) == Later(MIDDLE, 2)
    assert decide(ValueError(), failures=2) == Dead("retries_exhausted")


def test_more_failures_than_rungs_stay_on_the_last() -> None:
    patient = RetryPolicy(max_failures=10)
    assert patient.next(ValueError(), delivery=9, failures=8, ladder=RETRY_LADDER) == Later(LONG, 9)


def test_what_cannot_get_better_is_dead_at_once() -> None:
    assert decide(Permanent("gone", "the run is gone")) == Dead("permanent:gone")
    assert decide(a_validation_error()) == Dead("permanent:validation_error")


def test_an_outage_leaves_the_count_alone_and_grows_patient() -> None:
    for error in (RetryLater(), BusUnavailable(), ConnectionResetError(), ConnectionRefusedError()):
        assert decide(error, delivery=1, failures=2) == Later(SHORT, 2)
        assert decide(error, delivery=3, failures=0) == Later(SHORT, 0)
        assert decide(error, delivery=4, failures=0) == Later(MIDDLE, 0)
        assert decide(error, delivery=400, failures=0) == Later(MIDDLE, 0)


def test_a_wanted_delay_is_the_first_rung_that_is_long_enough() -> None:
    assert decide(RetryLater(after=0)) == Later(SHORT, 0)
    assert decide(RetryLater(after=5)) == Later(SHORT, 0)
    assert decide(RetryLater(after=6.5)) == Later(MIDDLE, 0)
    assert decide(RetryLater(after=100000)) == Later(LONG, 0)
    assert decide(RetryLater(after=29, counted=True)) == Later(MIDDLE, 1)
    assert decide(RetryLater(counted=True)) == Later(SHORT, 1)


def test_a_counted_retry_can_be_the_last() -> None:
    assert decide(RetryLater(after=5, counted=True), failures=2) == Dead("retries_exhausted")


@given(
    failures=st.integers(0, 100),
    delivery=st.integers(1, 10_000),
    limit=st.integers(1, 50),
    error=st.sampled_from(
        [ValueError(), RetryLater(), RetryLater(counted=True), ConnectionError(), Permanent("x")]
    ),
)
def test_a_counted_failure_always_comes_closer_to_the_end(
    failures: int, delivery: int, limit: int, error: Exception
) -> None:
    decision = RetryPolicy(max_failures=limit).next(
        error, delivery=delivery, failures=failures, ladder=RETRY_LADDER
    )
    match decision:
        case Later(delay=delay, failures=after):
            assert delay in RETRY_LADDER
            assert failures <= after <= failures + 1
            assert after < limit or after == failures
        case Dead(reason=reason):
            assert reason in {"retries_exhausted", "permanent:x"}
