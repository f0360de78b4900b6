"""A suspicion is settled once: by its rerun, or told as it is with the reason why there is none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete

from proctor_alerter.confirming import PATIENCE, Confirming
from proctor_alerter.telling import Teller
from proctor_chassis.metrics import Meters
from proctor_store.repositories import confirmations, looks
from proctor_store.tables import Run
from tests.alerter.world import World, open_world
from tests.store.rows import BOTH

GOOD = {"Мова": [100] * 10, "Гроші": [100] * 10}
WEAK = {"Мова": [0] + [100] * 9, "Гроші": [100] * 10}
BAD_AGAIN = {"Мова": [0] * 3 + [100] * 7}
GOOD_AGAIN = {"Мова": [100] * 10}


@pytest.fixture(params=BOTH)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(request, tmp_path) as made:
        yield made


async def suspected(world: World, scores: dict[str, Any] = WEAK) -> UUID:
    await world.history(GOOD)
    run = await world.run(scores)
    await world.hears(run)
    return run


async def rerun(world: World, run: UUID, scores: dict[str, Any], **more: Any) -> UUID:
    return await world.run(scores, trials=3, rerun_of=run, confirms_run_id=run, **more)


def confirming(world: World) -> Confirming:
    teller = Teller(settings=world.settings, clock=world.clock.now, meters=Meters(), wake=lambda: None)
    return Confirming(database=world.database, teller=teller, clock=world.clock.now)


async def test_what_the_rerun_confirms_is_told_once(world: World) -> None:
    run = await suspected(world)
    again = await rerun(world, run, BAD_AGAIN)
    await world.hears(again)
    await world.hears(again)
    look = await world.look(run)
    assert look is not None
    assert (look.state, look.confirming_run_id, look.reason) == ("settled", again, None)
    assert await world.untold(run) == {"suspected": "not_asked_for", "regression+": None}
    (delivery,) = await world.deliveries()
    body = json.loads(delivery.body)
    assert (body["kind"], body["verdict"], body["runId"]) == ("regression", "regression", str(run))
    (change,) = body["regressions"]
    assert (change["currentAvg"], change["baselineAvg"], change["deltaPoints"]) == (90, 100, 10)
    assert (change["confirmedBy"], change["confirmedAvg"], change["verdict"]) == (
        str(again),
        70,
        "regression",
    )
    assert change["pValue"] <= 0.05
    asked, confirmed = [json.loads(text) for _, text in await world.sent()]
    assert (asked["confirm"], asked.get("confirmedBy")) == (["Мова"], None)
    assert (confirmed["verdict"], confirmed["confirm"], confirmed["confirmedBy"]) == (
        "regression",
        [],
        str(again),
    )


async def test_what_the_rerun_clears_is_kept_and_never_told(world: World) -> None:
    run = await suspected(world)
    again = await rerun(world, run, GOOD_AGAIN)
    await world.hears(again)
    look = await world.look(run)
    assert look is not None
    assert look.state == "settled"
    assert look.findings["reruns"]["Мова"]["verdict"] == "ok"
    assert await world.untold(run) == {"suspected": "not_asked_for"}
    assert await world.deliveries() == []
    assert await world.look(again) is None


async def test_the_rerun_is_held_against_the_runs_that_the_suspicion_rests_on(world: World) -> None:
    run = await suspected(world)
    for _ in range(7):
        await world.run({"Мова": [0] * 10})
    await world.hears(await rerun(world, run, BAD_AGAIN))
    assert "regression+" in await world.alerts(run)


@pytest.mark.parametrize(
    ("scores", "more", "reason"),
    [
        ({"Мова": ["error"] * 10}, {}, "the rerun graded nothing in it"),
        ({"Мова": ["error"] * 10}, {"status": "failed"}, "the rerun was failed"),
        ({}, {"status": "cancelled"}, "the rerun was cancelled"),
        ({"Мова": [100] + ["cancelled"] * 9}, {"status": "cancelled"}, "the rerun was cancelled"),
    ],
)
async def test_a_rerun_that_says_nothing_leaves_it_suspected_and_told(
    world: World, scores: dict[str, Any], more: dict[str, Any], reason: str
) -> None:
    run = await suspected(world)
    await world.hears(await rerun(world, run, scores, **more))
    look = await world.look(run)
    assert look is not None
    assert (look.state, look.reason) == ("settled", reason)
    alert = (await world.alerts(run))["suspected+"]
    assert alert.untold is None
    (change,) = alert.payload["regressions"]
    assert (change["verdict"], change["note"]) == ("suspected", f"not confirmed: {reason}")
    assert len(await world.deliveries()) == 1


async def test_without_the_runs_before_it_a_suspicion_is_not_cleared(world: World) -> None:
    run = await suspected(world)
    async with world.database.transaction() as unit:
        await unit.connection.execute(delete(Run).where(Run.id.notin_([run])))
    await world.hears(await rerun(world, run, BAD_AGAIN))
    (change,) = (await world.alerts(run))["suspected+"].payload["regressions"]
    assert change["note"] == "not confirmed: the runs before it were deleted meanwhile"


async def test_each_category_is_settled_by_itself(world: World) -> None:
    two = {"Мова": [0] + [100] * 9, "Гроші": [0] + [100] * 9}
    run = await suspected(world, two)
    await world.hears(await rerun(world, run, {**BAD_AGAIN, "Гроші": [100] * 10}))
    alert = (await world.alerts(run))["regression+"]
    assert [one["category"] for one in alert.payload["regressions"]] == ["Мова"]


async def test_a_refused_rerun_is_told_with_its_reason(world: World) -> None:
    run = await suspected(world)
    async with world.database.transaction() as unit:
        await confirmations.refused(unit, run, "quota_exceeded: no runs left", now=world.clock.now())
    assert await confirming(world).give_up_overdue() == 1
    assert await confirming(world).give_up_overdue() == 0
    look = await world.look(run)
    assert look is not None
    assert (look.state, look.reason) == ("settled", "quota_exceeded: no runs left")
    (change,) = (await world.alerts(run))["suspected+"].payload["regressions"]
    assert change["note"] == "not confirmed: quota_exceeded: no runs left"


async def test_a_rerun_that_does_not_come_for_a_day_is_given_up(world: World) -> None:
    run = await suspected(world)
    world.clock.advance((PATIENCE - timedelta(seconds=1)).total_seconds())
    assert await confirming(world).give_up_overdue() == 0
    world.clock.advance(2)
    assert await confirming(world).give_up_overdue() == 1
    assert (await world.untold(run))["suspected+"] is None
    # What comes after that is no news.
    await world.hears(await rerun(world, run, BAD_AGAIN))
    assert "regression+" not in await world.alerts(run)


async def test_a_run_that_was_told_at_once_may_have_another_category_confirmed(world: World) -> None:
    run = await suspected(world, {"Мова": [0] + [100] * 9, "Гроші": [0] * 10})
    first = (await world.alerts(run))["regression"]
    assert [(one["category"], one["verdict"]) for one in first.payload["regressions"]] == [
        ("Гроші", "regression"),
        ("Мова", "suspected"),
    ]
    await world.hears(await rerun(world, run, BAD_AGAIN))
    second = (await world.alerts(run))["regression+"]
    assert [one["category"] for one in second.payload["regressions"]] == ["Мова"]
    assert len(await world.deliveries()) == 2


async def test_a_rerun_of_a_look_that_is_gone_is_nothing(world: World) -> None:
    run = await world.run(GOOD)
    await world.hears(await rerun(world, run, BAD_AGAIN))
    assert await world.deliveries() == []


async def test_a_look_that_cannot_be_settled_holds_up_no_other(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = await suspected(world), await suspected(world)
    async with world.database.transaction() as unit:
        for run in (broken, fine):
            await confirmations.refused(unit, run, "no", now=world.clock.now())
        await looks.change(unit, broken, {"findings": {}}, now=world.clock.now())
    assert await confirming(world).give_up_overdue() == 1
    assert "suspected+" in await world.alerts(fine)
    assert "look_not_settled" in [one.getMessage() for one in caplog.records]
