from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from proctor_api.retention.ages import Ages, looked_back, wait_after
from proctor_contracts.schedules import Notifications

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


def test_runs_are_kept_a_month_and_cancelled_ones_a_day_if_nobody_says_otherwise() -> None:
    cutoffs = Ages().cutoffs(NOW)
    assert cutoffs.ended == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert cutoffs.cancelled == datetime(2026, 3, 30, 12, tzinfo=UTC)
    assert Ages().alerts_before(NOW) == NOW - timedelta(days=90)


def test_what_is_kept_for_ever_has_no_moment() -> None:
    ages = Ages(runs=None, cancelled=None, alerts=None)
    assert (ages.cutoffs(NOW).by_status(), ages.alerts_before(NOW)) == ([], None)


@pytest.mark.parametrize(
    ("failures", "minutes"), [(1, 5), (2, 10), (3, 20), (9, 1280), (10, 1440), (10_000, 1440)]
)
def test_an_export_waits_twice_as_long_each_time_and_at_most_a_day(failures: int, minutes: int) -> None:
    assert wait_after(failures) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        ({}, 2),
        ({"onFailure": False}, 0),
        ({"onFailure": False, "onRecovery": True, "threshold": 3}, 4),
        ({"threshold": 5, "onGateFailure": True, "gateThreshold": 9}, 10),
        ({"threshold": 5, "onGateFailure": False, "gateThreshold": 9}, 6),
    ],
)
def test_a_schedule_needs_one_run_more_than_the_longest_row_it_tells_of(
    wanted: dict[str, bool | int], runs: int
) -> None:
    assert looked_back(Notifications.model_validate(wanted)) == runs
