"""Runs on real servers, through processes that stay alive: verdicts, cancel, events, poison."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.e2e.conftest import Platform
from tests.support.stub_provider import Say
from tests.support.until import until

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]


def case(number: int, *assertions: dict[str, Any], **more: Any) -> dict[str, Any]:
    checks = assertions or ({"kind": "contains", "value": f"№{number}"},)
    return {
        "ref": f"c-{number}",
        "name": f"Кейс {number}",
        "category": "Мова",
        "input": {"kind": "scripted_single", "message": f"Добрий день, це №{number}"},
        "assertions": list(checks),
        **more,
    }


async def test_a_judge_that_answers_garbage_makes_errors_that_show_what_it_said(platform: Platform) -> None:
    platform.fleet.judge.answer = lambda _seen: Say("Вважаю, що пройдено, мабуть.")
    rest = platform.one
    bot = await rest.bot("garbage", platform.fleet.bot.bot_url)
    judged = {"kind": "judge", "rubric": "Бот ввічливий."}
    await rest.cases(bot, [case(1, judged), case(2, {"kind": "contains", "value": "нема такого"}), case(3)])
    run = await rest.run(bot)
    view = await rest.ended(run)
    assert view["status"] == "completed"
    summary = view["summary"]
    assert (summary["passed"], summary["failed"], summary["error"]) == (1, 1, 1)
    by_ref = {result["caseRef"]: result for result in await rest.results(run)}
    garbled = by_ref["c-1"]
    assert garbled["status"] == "error"
    assert garbled["error"]["blame"] == "judge"
    assert "Вважаю, що пройдено, мабуть." in str(garbled["assertionResults"])
    assert summary["errorsByCode"] == {garbled["error"]["code"]: 1}
    assert summary["passRate"] == 0.5


async def test_cancel_stops_the_spending_at_once_and_nothing_late_changes_it(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    fleet.bot.hold = asyncio.Event()
    bot = await rest.bot("cancelled", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(120)])
    run = await rest.run(bot, concurrency=100)
    await until(lambda: fleet.bot.in_flight >= 50)
    view = await rest.post(f"/testing/runs/{run}/cancel")
    assert view["status"] == "cancelled"
    await until(lambda: fleet.bot.in_flight == 0, within=5)
    called = len(fleet.bot.requests)
    fleet.bot.hold.set()
    again = await platform.two.post(f"/testing/runs/{run}/cancel")
    assert again["status"] == "cancelled"
    assert again["completedAt"] == view["completedAt"]
    # Another run on the same workers: when it is through, everything that was queued before it is too.
    other = await rest.run(bot, concurrency=100)
    assert (await rest.ended(other))["status"] == "completed"
    assert len(fleet.bot.requests) == called + 120
    last = await platform.two.view(run)
    assert last["status"] == "cancelled"
    assert last["progress"]["cancelled"] == 120
    assert {result["status"] for result in await rest.results(run)} == {"cancelled"}
