"""What is away is said once, and messages that need it come again."""

from __future__ import annotations

import logging

import pytest

from proctor_chassis.bus import RetryLater
from proctor_chassis.outage import Outage


class Gone(Exception):
    pass


def test_going_and_coming_back_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outage = Outage("database", Gone)
    assert outage.problem is None
    for _ in range(3):
        with pytest.raises(RetryLater) as caught, outage.again_later():
            raise Gone("no route")
        assert caught.value.counted is False
    assert outage.problem == "database_down"
    for _ in range(2):
        with outage.again_later():
            pass
    assert outage.problem is None
    assert [record.getMessage() for record in caplog.records] == ["database_away", "database_back"]
    assert vars(caplog.records[0])["reason"] == "no route"


def test_other_faults_are_not_taken_for_an_outage() -> None:
    outage = Outage("database", Gone)
    with pytest.raises(ValueError, match="ours"), outage.again_later():
        raise ValueError("ours")
    assert outage.away is False
