from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from proctor_alerter.retrying import LONGEST_PAUSE, PAUSES, Again, Delivered, Failed, Tried, next_step
from proctor_chassis.egress.policy import Refusal

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def step(tried: Tried, *, tries: int = 1, chance: float = 0) -> Delivered | Again | Failed:
    return next_step(tried, tries=tries, now=NOW, chance=chance)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_good_status_is_an_arrival(status: int) -> None:
    assert step(Tried(status=status)) == Delivered()


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 403, 404, 410, 413, 422, 499])
def test_a_receiver_that_does_not_want_it_is_not_asked_again(status: int) -> None:
    assert step(Tried(status=status, retry_after=10)) == Failed()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 599])
def test_what_passes_is_tried_again(status: int) -> None:
    assert step(Tried(status=status)) == Again(NOW + timedelta(seconds=PAUSES[0]))


@pytest.mark.parametrize(
    "error",
    [
        "timeout",
        "unreachable",
        "connection_broken",
        "tls_failed",
        "missing_secret",
        "bad_secret",
        Refusal.UNRESOLVED,
    ],
)
def test_what_may_mend_itself_is_tried_again(error: str) -> None:
    assert isinstance(step(Tried(error=error)), Again)


@pytest.mark.parametrize("error", [*(set(Refusal) - {Refusal.UNRESOLVED}), "no_webhook"])
def test_what_the_policy_refuses_is_final(error: str) -> None:
    assert step(Tried(error=error)) == Failed()


def test_pauses_grow_to_a_bound_and_are_spread() -> None:
    calm = [step(Tried(status=500), tries=tries) for tries in range(1, len(PAUSES) + 1)]
    assert calm == [Again(NOW + timedelta(seconds=pause)) for pause in PAUSES]
    assert step(Tried(status=500), tries=2, chance=1) == Again(NOW + timedelta(seconds=PAUSES[1] * 1.2))
    assert step(Tried(status=500), tries=len(PAUSES) + 1) == Failed()
    assert sum(PAUSES) > 10 * 3_600


@pytest.mark.parametrize(("asked", "seconds"), [(None, 10), (3, 10), (120, 120), (10**9, LONGEST_PAUSE)])
def test_a_receiver_may_ask_for_more_patience_but_not_for_ever(asked: float | None, seconds: int) -> None:
    assert step(Tried(status=429, retry_after=asked)) == Again(NOW + timedelta(seconds=seconds))
