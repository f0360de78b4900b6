"""A completed run is looked at once: what is kept, told and asked for."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor_alerter.settings import AlerterSettings
from proctor_chassis.bus import RetryLater
from proctor_chassis.metrics import Meters
from proctor_contracts.ids import new_id
from proctor_store.repositories import looks
from proctor_store.session import StoreUnavailable
from tests.alerter.world import World, open_world
from tests.store.rows import BOTH
from tests.support.manual_clock import EPOCH
from tests.support.platform import Counted

GOOD = {"Мова": [100] * 10, "Гроші": [100] * 10}
BROKEN = {"Мова": [0] * 5 + [100] * 5, "Гроші": [100] * 10}
WEAK = {"Мова": [0] + [100] * 9, "Гроші": [100] * 10}


@pytest.fixture(params=BOTH)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(request, tmp_path) as made:
        yield made


def detected(sent: list[tuple[str, str]]) -> list[Any]:
    assert {key for key, _ in sent} <= {"regression.detected"}
    return [json.loads(body) for _, body in sent]


async def test_a_broken_category_is_told_at_once_and_published(world: World) -> None:
    baseline = await world.history(GOOD)
    run = await world.run(BROKEN)
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert (look.state, look.confirm) == ("settled", [])
    assert set(look.baseline_run_ids) == {str(one) for one in baseline}
    assert await world.untold(run) == {"regression": None}
    (delivery,) = await world.deliveries()
    assert (delivery.state, delivery.source, delivery.target) == (
        "pending",
        "environment",
        "http://127.0.0.1:9/hook",
    )
    body = json.loads(delivery.body)
    assert body == (await world.alerts(run))["regression"].payload
    assert (body["runId"], body["trigger"], body["thresholdPoints"]) == (str(run), "scheduled", 10)
    assert body["current"] == {"Гроші": 100, "Мова": 50}
    assert body["baseline"] == {"Гроші": 100, "Мова": 100}
    (change,) = body["regressions"]
    assert (change["category"], change["deltaPoints"], change["verdict"]) == ("Мова", 50, "regression")
    (event,) = detected(await world.sent())
    assert (event["verdict"], event["confirm"]) == ("regression", [])


async def test_hearing_of_a_run_again_changes_nothing(world: World) -> None:
    await world.history(GOOD)
    run = await world.run(BROKEN)
    for delivery in range(1, 4):
        await world.hears(run, delivery=delivery)
    assert len(await world.deliveries()) == 1
    assert len(await world.sent()) == 1


async def test_a_weak_drop_alarms_nobody_and_asks_for_one_rerun(world: World) -> None:
    await world.history(GOOD)
    run = await world.run(WEAK)
    await world.hears(run)
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert (look.state, look.confirm) == ("asked", ["Мова"])
    assert await world.untold(run) == {"suspected": "not_asked_for"}
    assert await world.deliveries() == []
    (event,) = detected(await world.sent())
    assert (event["verdict"], event["confirm"], event["trials"]) == ("suspected", ["Мова"], 3)


async def test_an_integration_may_ask_for_the_early_word(world: World) -> None:
    await world.own({"tell": ["suspected"]})
    await world.history(GOOD)
    run = await world.run(WEAK)
    await world.hears(run)
    assert await world.untold(run) == {"suspected": None}
    assert len(detected(await world.sent())) == 1


async def test_a_muted_integration_is_told_nothing_and_plays_nothing_again(world: World) -> None:
    await world.own({"muted": True})
    await world.history(GOOD)
    weak = await world.run(WEAK)
    await world.hears(weak)
    broken = await world.run(BROKEN)
    await world.hears(broken)
    look = await world.look(weak)
    assert look is not None
    assert (look.state, look.reason) == ("settled", "the integration's alerts are muted")
    assert (await world.untold(weak), await world.untold(broken)) == (
        {"suspected": "muted"},
        {"regression": "muted"},
    )
    assert [event["confirm"] for event in detected(await world.sent())] == [[]]


async def test_a_good_run_and_a_first_run_are_kept_and_not_told(world: World) -> None:
    first = await world.run(GOOD)
    await world.hears(first)
    await world.history(GOOD, runs=3)
    later = await world.run(GOOD)
    await world.hears(later)
    looked = [await world.look(one) for one in (first, later)]
    assert [
        {name: one["verdict"] for name, one in look.findings["categories"].items()} for look in looked if look
    ] == [{"Гроші": "no_baseline", "Мова": "no_baseline"}, {"Гроші": "ok", "Мова": "ok"}]
    assert await world.deliveries() == []
    assert await world.sent() == []


async def test_errors_and_cases_without_a_score_stay_out_of_the_averages(world: World) -> None:
    await world.history(GOOD)
    run = await world.run({"Мова": ["error"] * 8 + [100] * 2, "Гроші": ["error"] * 10})
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert {name: one["verdict"] for name, one in look.findings["categories"].items()} == {"Мова": "ok"}


@pytest.mark.parametrize(
    "more",
    [
        {"compare_run_id": UUID(int=1)},
        {"prompt_overridden": True},
        {"rerun_of": UUID(int=2)},
        {"mode": "persona"},
        {"status": "failed"},
        {"status": "cancelled"},
    ],
)
async def test_runs_that_cannot_be_compared_are_neither_looked_at_nor_a_baseline(
    world: World, more: dict[str, Any]
) -> None:
    await world.history(GOOD)
    other = await world.run(BROKEN, **more)
    await world.hears(other)
    assert await world.look(other) is None
    run = await world.run(GOOD)
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert str(other) not in look.baseline_run_ids


@pytest.mark.parametrize(
    "settings", [{"runner": "gateway", "weather": []}, {"runner": "scripted", "weather": ["timeout@1"]}]
)
async def test_only_runs_played_alike_are_compared(world: World, settings: dict[str, Any]) -> None:
    await world.history(GOOD)
    alone = await world.run(BROKEN, settings=settings)
    await world.hears(alone)
    look = await world.look(alone)
    assert look is not None
    assert look.baseline_run_ids == []
    assert await world.deliveries() == []


async def test_the_last_seven_runs_before_it_count_by_the_time_they_ended(world: World) -> None:
    many = await world.history(GOOD, runs=9)
    run = await world.run(GOOD, at=EPOCH + timedelta(minutes=8, seconds=30))
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert look.baseline_run_ids == [str(one) for one in reversed(many[1:8])]


async def test_runs_that_ended_in_the_same_moment_are_told_apart_by_their_ids(world: World) -> None:
    at = EPOCH + timedelta(hours=1)
    runs = [await world.run(GOOD, at=at) for _ in range(3)]
    await world.hears(runs[1])
    look = await world.look(runs[1])
    assert look is not None
    assert (look.baseline_run_ids, look.findings["stale"]) == ([str(runs[0])], True)


async def test_an_integration_has_its_own_delta_and_lookback(world: World) -> None:
    await world.own({"delta": 60, "lookback": 3})
    await world.history(GOOD)
    run = await world.run(BROKEN)
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert len(look.baseline_run_ids) == 3
    assert await world.untold(run) == {"drift": "not_asked_for"}


async def test_without_a_webhook_a_regression_is_a_warning_in_the_log(
    request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    request.param = "sqlite"
    async with open_world(request, tmp_path, settings=AlerterSettings()) as world:
        await world.history(GOOD)
        run = await world.run(BROKEN)
        await world.hears(run)
        assert await world.untold(run) == {"regression": "no_webhook"}
        assert await world.deliveries() == []
    (line,) = [one for one in caplog.records if one.getMessage() == "alert.decided"]
    assert (line.levelname, vars(line)["kind"], vars(line)["run"]) == ("WARNING", "regression", str(run))


async def test_a_model_that_changed_is_named_and_told_by_choice(world: World) -> None:
    await world.history(GOOD, runs=2)
    await world.run(GOOD, agent_models=["m-1"], judge_models=["j-1"])
    run = await world.run(GOOD, agent_models=["m-2"], judge_models=["j-1"])
    await world.hears(run)
    assert await world.untold(run) == {"model_change": "not_asked_for"}
    await world.own({"tell": ["model_change", "drift"]})
    again = await world.run(BROKEN, agent_models=["m-3"])
    await world.hears(again)
    assert await world.untold(again) == {"regression": None, "model_change": "told_with:regression"}
    (delivery,) = await world.deliveries()
    assert json.loads(delivery.body)["modelChanges"] == [
        {"role": "agent", "what": "model", "before": ["m-2"], "now": ["m-3"]}
    ]


async def test_after_a_day_away_stale_runs_are_looked_at_in_order_and_one_break_is_told_once(
    world: World,
) -> None:
    await world.history(GOOD)
    missed = [await world.run({"Мова": [0] * 10, "Гроші": [100] * 10}) for _ in range(4)]
    for run in missed:
        await world.hears(run)
    assert [await world.untold(run) for run in missed] == [
        {"regression": None},
        {"regression": "stale_repeat"},
        {"regression": "stale_repeat"},
        {"regression": None},
    ]
    bodies = [json.loads(one.body) for one in await world.deliveries()]
    assert [(body["runId"], body["stale"]) for body in bodies] == [
        (str(missed[0]), True),
        (str(missed[3]), False),
    ]


async def test_another_category_that_broke_in_a_stale_run_is_news(world: World) -> None:
    await world.history(GOOD)
    first = await world.run(BROKEN)
    second = await world.run({"Мова": [0] * 10, "Гроші": [0] * 10})
    await world.run(GOOD)
    await world.hears(first)
    await world.hears(second)
    assert (await world.untold(first), await world.untold(second)) == (
        {"regression": None},
        {"regression": None},
    )


async def test_a_stale_suspicion_is_kept_and_plays_nothing_again(world: World) -> None:
    await world.history(GOOD)
    weak = await world.run(WEAK)
    await world.run(GOOD)
    await world.hears(weak)
    look = await world.look(weak)
    assert look is not None
    assert look.state == "settled"
    assert look.reason is not None
    assert "newer run" in look.reason
    alert = (await world.alerts(weak))["suspected"]
    assert (alert.untold, alert.payload["stale"]) == ("not_asked_for", True)
    assert await world.sent() == []


async def test_a_newer_run_of_other_categories_makes_no_run_stale(world: World) -> None:
    await world.history(GOOD)
    weak = await world.run({"Мова": WEAK["Мова"]})
    await world.run({"Гроші": [100] * 10})
    await world.hears(weak)
    assert [event["confirm"] for event in detected(await world.sent())] == [["Мова"]]


async def test_of_suites_that_take_turns_a_break_is_told_once_too(world: World) -> None:
    await world.history(GOOD)
    missed = []
    for _ in range(3):
        missed.append(await world.run({"Мова": [0] * 10}))
        missed.append(await world.run({"Гроші": [100] * 10}))
    for run in missed:
        await world.hears(run)
    assert [await world.untold(run) for run in missed[::2]] == [
        {"regression": None},
        {"regression": "stale_repeat"},
        {"regression": None},
    ]


async def test_a_run_that_is_gone_is_nothing(world: World) -> None:
    await world.hears(new_id())
    assert await world.sent() == []


async def test_two_alerters_that_hear_of_the_same_runs_tell_each_once(world: World) -> None:
    await world.history(GOOD)
    runs = [await world.run({"Мова": [0] * 10, "Гроші": [100] * 10}) for _ in range(2)]
    other = world.another()
    await asyncio.gather(*(one.hears(run) for run in runs for one in (world, other)))
    assert len(await world.deliveries()) == 2
    assert len(await world.sent()) == 2


async def test_while_the_database_is_away_a_run_is_heard_of_again_and_the_log_says_so_once(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await world.history(GOOD)
    run = await world.run(BROKEN)
    real, away = looks.lock_integration, [True]

    async def lock(*arguments: Any) -> None:
        if away[0]:
            raise StoreUnavailable("weg")
        await real(*arguments)

    monkeypatch.setattr(looks, "lock_integration", lock)
    for _ in range(3):
        with pytest.raises(RetryLater):
            await world.hears(run)
    assert world.alerter.problem() is not None
    away[0] = False
    await world.hears(run)
    assert len(await world.deliveries()) == 1
    said = [one.getMessage() for one in caplog.records]
    assert (said.count("database_away"), said.count("database_back")) == (1, 1)


async def test_runs_played_otherwise_are_looked_past_and_large_runs_are_read_whole(world: World) -> None:
    good = await world.run({"Мова": [100] * 1_200})
    for _ in range(60):
        await world.run({"Мова": [0]}, settings={"runner": "scripted", "weather": ["timeout@1"]})
    run = await world.run({"Мова": [100] * 600 + [0] * 600})
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert look.baseline_run_ids == [str(good)]
    found = look.findings["categories"]["Мова"]
    assert (found["n"], found["current_avg"], found["baseline_avg"]) == (1_200, 50, 100)


async def test_a_category_is_the_one_that_the_case_had_in_that_run(world: World) -> None:
    await world.history({"Мова": [100] * 10})
    run = await world.run({"Стиль": [0] * 10})
    await world.hears(run)
    look = await world.look(run)
    assert look is not None
    assert {name: one["verdict"] for name, one in look.findings["categories"].items()} == {
        "Стиль": "no_baseline"
    }


async def test_an_alert_is_counted_by_its_kind(world: World) -> None:
    counted = Counted()
    other = world.another(meters=Meters(alerts=counted))
    await world.history(GOOD)
    await other.hears(await world.run(BROKEN))
    assert counted.by_label == {"regression": 1, "sent": 1}
