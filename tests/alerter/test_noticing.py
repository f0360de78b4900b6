"""A schedule's runs in a row: one notice a streak, one when they work again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.alerter.world import World, open_world
from tests.store.rows import BOTH


@pytest.fixture(params=BOTH)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(request, tmp_path) as made:
        yield made


async def ended(world: World, schedule: UUID, *statuses: str, gate: str = "passed") -> list[UUID]:
    decision = {"outcome": gate, "exitCode": 1, "reasons": [{"code": "pass_rate", "message": "80 % < 90 %"}]}
    return [
        await world.run(
            {},
            status=status,
            schedule_id=schedule,
            gate_decision=decision,
            summary={"errorsByCode": {"timeout": 3, "refused": 7}},
        )
        for status in statuses
    ]


async def kinds(world: World, runs: Sequence[UUID]) -> list[list[str]]:
    return [list(await world.alerts(run)) for run in runs]


async def test_one_notice_at_the_threshold_and_one_of_the_recovery(world: World) -> None:
    schedule = await world.schedule(threshold=2, onRecovery=True)
    runs = await ended(world, schedule, "completed", "failed", "cancelled", "failed", "failed", "completed")
    for run in runs:
        await world.hears(run)
    assert await kinds(world, runs) == [[], [], [], ["execution_failures"], [], ["recovery"]]
    body = (await world.alerts(runs[3]))["execution_failures"].payload
    assert (body["runsInARow"], body["threshold"], body["scheduleName"]) == (2, 2, "Щоночі")
    assert body["reason"] == "nothing could be graded: refused (7), timeout (3)"
    assert body["link"] == f"/api/testing/runs/{runs[3]}"
    recovery = (await world.alerts(runs[5]))["recovery"].payload
    assert (recovery["runsInARow"], recovery["reason"]) == (3, None)
    assert len(await world.deliveries()) == 2


async def test_disorder_and_repetition_change_nothing(world: World) -> None:
    schedule = await world.schedule(threshold=2, onRecovery=True)
    runs = await ended(world, schedule, "failed", "failed", "failed", "completed")
    for run in (runs[3], runs[2], runs[0], runs[1], *runs):
        await world.hears(run)
    assert await kinds(world, runs) == [[], ["execution_failures"], [], ["recovery"]]
    assert len(await world.deliveries()) == 2


@pytest.mark.parametrize(
    "notifications", [{"onFailure": False}, {"threshold": 5}, {"onFailure": False, "onGateFailure": False}]
)
async def test_what_is_off_or_not_reached_is_not_told(world: World, notifications: dict[str, Any]) -> None:
    schedule = await world.schedule(**notifications)
    runs = await ended(world, schedule, "failed", "failed", "completed")
    for run in runs:
        await world.hears(run)
    assert await kinds(world, runs) == [[], [], []]


async def test_lost_gates_in_a_row_are_told_by_choice(world: World) -> None:
    schedule = await world.schedule(onGateFailure=True, gateThreshold=2)
    runs = [
        *await ended(world, schedule, "completed", gate="failed"),
        *await ended(world, schedule, "completed", gate="undecided"),
        *await ended(world, schedule, "completed", "completed", gate="failed"),
    ]
    for run in runs:
        await world.hears(run)
    assert await kinds(world, runs) == [[], [], ["gate_failures"], []]
    assert (await world.alerts(runs[2]))["gate_failures"].payload["reason"] == "80 % < 90 %"


async def test_runs_of_other_schedules_and_by_hand_do_not_count(world: World) -> None:
    schedule, other = await world.schedule(threshold=2), await world.schedule(threshold=2)
    first = await ended(world, schedule, "failed")
    await ended(world, other, "completed")
    await world.run({}, status="completed")
    second = await ended(world, schedule, "failed")
    for run in (*first, *second):
        await world.hears(run)
    assert await kinds(world, second) == [["execution_failures"]]


async def test_a_rerun_of_a_scheduled_run_is_not_the_schedules(world: World) -> None:
    schedule = await world.schedule()
    rerun = await world.run({}, status="failed", schedule_id=schedule, rerun_of=UUID(int=1))
    await world.hears(rerun)
    assert await kinds(world, [rerun]) == [[]]


async def test_a_muted_integration_keeps_the_notice(world: World) -> None:
    await world.own({"muted": True})
    schedule = await world.schedule()
    (run,) = await ended(world, schedule, "failed")
    await world.hears(run)
    assert await world.untold(run) == {"execution_failures": "muted"}
