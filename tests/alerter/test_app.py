"""The alerter takes completed runs off its own queue."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from uuid import UUID

import pytest

from proctor_alerter.app import create_alerter
from proctor_chassis.bus.inprocess import InProcessBus
from proctor_contracts.enums import RunStatus
from proctor_contracts.messages import RunCompleted
from proctor_contracts.summary import RunSummary
from proctor_contracts.topology import ALERTER_RUNS


async def test_a_completed_run_is_logged_and_its_message_done(caplog: pytest.LogCaptureFixture) -> None:
    bus, service = InProcessBus(), create_alerter()
    caplog.set_level(logging.INFO)
    subscription = service.subscriptions()[0]
    assert subscription.queue == ALERTER_RUNS
    await bus.start(service.subscriptions(), service.listeners())
    await service.start()
    await bus.publish(
        RunCompleted(
            run_id=UUID(int=1),
            account_id=UUID(int=2),
            integration_id=UUID(int=3),
            status=RunStatus.COMPLETED,
            completed_at=datetime.now(UTC),
            summary=RunSummary(),
        )
    )
    await service.drain(seconds=1)
    await bus.stop(grace_seconds=1)
    await service.stop()
    lines = [record for record in caplog.records if record.getMessage() == "run.completed"]
    assert [record.name for record in lines] == ["proctor_alerter.handlers"]
    assert vars(lines[0])["run"] == str(UUID(int=1))
    depth = await bus.depth(ALERTER_RUNS.name)
    assert depth is not None
    assert (depth.ready, depth.unacked) == (0, 0)
