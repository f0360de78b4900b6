"""Schedules in `proctor up`: everything in one process on SQLite."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import aiohttp

from tests.e2e.test_up import up
from tests.support.platform_processes import case
from tests.support.scheduled import SCHEDULES, became, just_now, nightly, seen
from tests.support.stub_provider import StubProvider


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
