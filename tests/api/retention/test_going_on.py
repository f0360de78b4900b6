"""The loop around the looks: when it looks, and what it says when it cannot."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from typing_extensions import override

from proctor_api.retention.settings import RetentionSettings
from proctor_api.retention.worker import AGAIN_SECONDS, EVERY_SECONDS, Retention
from proctor_api.usecases.results import Results
from proctor_api.usecases.runs import Runs
from proctor_chassis.metrics import Meters
from proctor_store.engine import create_engine
from proctor_store.session import Database, StoreUnavailable
from tests.support.manual_clock import ManualClock


class Scripted(Retention):
    """Retention whose looks end as told: whether more is left, or with an error."""

    def __init__(self, clock: ManualClock, ends: Sequence[bool | Exception], *, folder: Path) -> None:
        super().__init__(
            database=Database(create_engine(f"sqlite:///{folder / 'never.db'}")),
            runs=cast("Runs", None),
            results=cast("Results", None),
            settings=RetentionSettings(),
            clock=clock,
            meters=Meters(),
            owner="one",
        )
        self._ends = list(ends)

    @override
    async def look(self) -> bool:
        end = self._ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end


async def test_it_looks_soon_after_the_start_then_every_few_minutes_and_sooner_when_more_is_left(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    retention = Scripted(clock, [False, True, True, False, False], folder=tmp_path)
    retention.start()
    waits = [await clock.next() for _ in range(5)]
    await retention.stop()
    assert waits == [AGAIN_SECONDS, EVERY_SECONDS, AGAIN_SECONDS, AGAIN_SECONDS, EVERY_SECONDS]


async def test_an_outage_is_told_once_and_a_fault_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    away = StoreUnavailable("connection refused")
    ends: list[bool | Exception] = [away, away, False, away, ValueError("a fault of ours"), False]
    retention = Scripted(clock, ends, folder=tmp_path)
    retention.start()
    with caplog.at_level(logging.INFO):
        for _ in ends:
            await clock.next()
    await clock.next()
    await retention.stop()
    assert [record.message for record in caplog.records] == [
        "retention.database_away", "retention.database_away", "retention.failed"
    ]  # fmt: skip


async def test_stopping_before_it_started_is_nothing(tmp_path: Path) -> None:
    await Scripted(ManualClock(), [], folder=tmp_path).stop()
