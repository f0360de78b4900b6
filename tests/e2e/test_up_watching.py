"""Schedules and alerts in `proctor up`: everything in one process on SQLite."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import aiohttp
from standardwebhooks import Webhook

from tests.e2e.test_up import up
from tests.support.platform_processes import case
from tests.support.scheduled import SCHEDULES, became, just_now, nightly, seen
from tests.support.stub_provider import Say, StubProvider
from tests.support.webhooks import WebhookServer

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def due(folder: Path, schedule: str) -> None:
    """Make the newest planned time due as if it had not been."""
    before = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%d %H:%M:%S.%f")
    with closing(sqlite3.connect(folder / ".proctor" / "proctor.db", timeout=30)) as database, database:
        one = UUID(schedule).hex
        database.execute(
            "UPDATE schedule_ticks SET planned_at = datetime(planned_at, '-1 day') WHERE schedule_id = ?",
            (one,),
        )
        database.execute(
            "UPDATE test_schedules SET next_run_at = ?, counted_from = ?, counted_local = NULL "
            "WHERE id = ?", (before, before, one),
        )  # fmt: skip


async def test_a_schedule_fires_in_one_process_too_and_is_due_again(tmp_path: Path) -> None:
    async with (
        StubProvider() as bot,
        aiohttp.ClientSession() as session,
        up(tmp_path, session) as (process, rest),
    ):
        integration = await rest.bot("bot", bot.bot_url)
        await rest.cases(integration, [case(1), case(2)])
        schedule = await nightly(rest, integration)
        for count in (1, 2):
            due(tmp_path, schedule)
            found = await became(rest, schedule, *["started"] * count)
            run = await rest.ended(found[0]["runId"])
            assert (run["status"], run["trigger"], run["summary"]["passed"]) == (
                "completed",
                "scheduled",
                2,
            )
            await seen(
                lambda: rest.get(f"{SCHEDULES}/{schedule}"),
                lambda one: one["lastRunStatus"] == "completed" and one["waitingFor"] is None,
            )
        assert await process.end(signal.SIGTERM) == 0


async def test_what_was_due_while_nothing_ran_is_caught_up_once(tmp_path: Path) -> None:
    async with StubProvider() as bot, aiohttp.ClientSession() as session:
        async with up(tmp_path, session) as (process, rest):
            integration = await rest.bot("bot", bot.bot_url)
            await rest.cases(integration, [case(1)])
            schedule = await nightly(rest, integration, cronExpression=just_now("*"))
            await process.end(signal.SIGKILL)
        hours_ago = (datetime.now(UTC) - timedelta(hours=12)).strftime("%Y-%m-%d %H:%M:%S.%f")
        with closing(sqlite3.connect(tmp_path / ".proctor" / "proctor.db")) as database, database:
            database.execute("UPDATE test_schedules SET next_run_at = ?, counted_from = ?", (hours_ago,) * 2)
        async with up(tmp_path, session) as (process, rest):
            (tick,) = await became(rest, schedule, "started")
            assert tick["missed"] == 11
            assert (await rest.ended(tick["runId"]))["status"] == "completed"
            assert len(await rest.get("/testing/runs")) == 1
            assert await process.end(signal.SIGTERM) == 0


async def test_a_fall_that_might_be_chance_is_played_again_and_then_told_once(tmp_path: Path) -> None:
    async with StubProvider() as bot, WebhookServer() as hooks, aiohttp.ClientSession() as session:
        told = {
            "TESTING_REGRESSION_WEBHOOK_URL": f"{hooks.url}/hook",
            "TESTING_REGRESSION_WEBHOOK_SECRET": KEY,
        }
        async with up(tmp_path, session, **told) as (process, rest):
            integration = await rest.bot("bot", bot.bot_url)
            await rest.cases(integration, [case(number) for number in range(8)])
            for _ in range(2):  # too few to be sure of anything
                await rest.ended(await rest.run(integration))
            bot.answer = lambda _seen: Say("Хто тут?")
            run = await rest.run(integration)
            await hooks.until(lambda: bool(hooks.calls))
            (call,) = hooks.calls
            (confirming,) = [
                one
                for one in await rest.get(f"/testing/runs?integrationId={integration}")
                if one["confirmsRunId"] == run
            ]
            (change,) = call.body["regressions"]
            assert (call.body["kind"], call.body["runId"]) == ("regression", run)
            assert (change["category"], change["confirmedBy"]) == ("Мова", confirming["id"])
            assert (change["currentAvg"], change["baselineAvg"], change["deltaPoints"]) == (0, 100, 100)
            assert Webhook(KEY).verify(call.raw, dict(call.headers)) == call.body
            (alert,) = await rest.get(f"/testing/alerts?runId={run}&kind=regression")
            assert alert["payload"] == call.body
            (delivery,) = alert["deliveries"]
            assert (delivery["id"], delivery["state"]) == (call.headers["webhook-id"], "delivered")
            await rest.post(f"/testing/alerts/{alert['id']}/redeliver")
            await hooks.until(lambda: len(hooks.calls) == 2)
            assert [one.raw for one in hooks.calls] == [call.raw] * 2
            assert hooks.calls[1].headers["webhook-id"] == delivery["id"]
            assert await process.end(signal.SIGTERM) == 0
