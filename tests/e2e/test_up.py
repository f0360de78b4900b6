"""`proctor up`: the whole product in one process, killed in mid-run and started again."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from uuid import UUID

import aiohttp

from tests.support.platform_processes import PROCTOR, case
from tests.support.processes import Process
from tests.support.rest import Rest
from tests.support.stub_provider import StubProvider
from tests.support.until import until

GOODBYE = "stopped; everything is kept\n"


@asynccontextmanager
async def up(folder: Path, session: aiohttp.ClientSession, **env: str) -> AsyncIterator[tuple[Process, Rest]]:
    """Start it in this folder; yields when its address can be read there."""
    running = await asyncio.create_subprocess_exec(
        PROCTOR, "up", "--port", "0", cwd=folder, stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"], "PYTHONWARNINGS": "error", **env},
    )  # fmt: skip
    process = Process(running)
    reading = asyncio.create_task(process.read_log())
    try:
        assert running.stdout is not None
        async with asyncio.timeout(30):
            assert b"Proctor is up at" in await running.stdout.readline()
        owner = json.loads((folder / ".proctor" / "server.json").read_text())
        assert owner["pid"] == running.pid
        yield process, Rest(owner["url"], owner["key"], session)
    finally:
        with suppress(ProcessLookupError):
            running.kill()
        await running.wait()
        await reading


async def test_up_plays_runs_ends_on_a_signal_and_takes_its_address_away(tmp_path: Path) -> None:
    async with (
        StubProvider() as bot,
        aiohttp.ClientSession() as session,
        up(tmp_path, session) as (process, rest),
    ):
        assert (await rest.ready())[0] == 200
        integration = await rest.bot("bot", bot.bot_url)
        await rest.cases(integration, [case(1), case(2, {"kind": "contains", "value": "такого нема"})])
        run = await rest.run(integration)
        told = [event.event async for event in rest.events(run)]
        assert told[-1] == "run.completed"
        statuses = {result["caseRef"]: result["status"] for result in await rest.results(run)}
        assert statuses == {"c-1": "passed", "c-2": "failed"}
        assert await process.end(signal.SIGTERM) == 0
        assert not (tmp_path / ".proctor" / "server.json").exists()
        assert process.events == [{"text": GOODBYE}]


async def test_up_that_was_killed_in_mid_run_goes_on_and_completes_it(tmp_path: Path) -> None:
    async with StubProvider() as bot, aiohttp.ClientSession() as session:
        async with up(tmp_path, session) as (killed, rest):
            integration = await rest.bot("bot", bot.bot_url)
            await rest.cases(integration, [case(number) for number in range(12)])
            bot.hold = asyncio.Event()
            run = await rest.run(integration, concurrency=4)
            await until(lambda: bot.in_flight == 4)
            bot.hold.set()
            bot.hold = asyncio.Event()
            view = await rest.until(run, lambda view: view["progress"]["done"] == 4)
            await until(lambda: bot.in_flight == 4)
            await killed.end(signal.SIGKILL)
            assert view["status"] == "running"
        key = rest.key
        bot.hold.set()
        async with up(tmp_path, session) as (again, rest):
            assert rest.key == key
            ended = await rest.ended(run)
            assert (ended["status"], ended["summary"]["passed"]) == ("completed", 12)
            results = await rest.results(run)
            assert len({result["caseRef"] for result in results}) == len(results) == 12
            # What was done stays done; only the conversations that were cut off are had again.
            calls = Counter(seen.last_user_text for seen in bot.requests)
            assert Counter(calls.values()) == {1: 8, 2: 4}
            assert await again.end() == 0
            assert again.events == [{"text": GOODBYE}]


async def test_up_stores_and_deletes_what_is_past_its_time(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    async with StubProvider() as bot, aiohttp.ClientSession() as session:
        async with up(tmp_path, session) as (process, rest):
            integration = await rest.bot("bot", bot.bot_url)
            await rest.cases(integration, [case(1), case(2)])
            old, marked, kept = [(await rest.ended(await rest.run(integration)))["id"] for _ in range(3)]
            exported = (await rest.call("GET", f"/testing/runs/{old}/export")).body
            assert await process.end() == 0
        path = tmp_path / ".proctor" / "proctor.db"
        with closing(sqlite3.connect(path)) as database, database:
            ages = "UPDATE test_runs SET completed_at = '2020-05-04 12:00:00.000000' WHERE id IN (?, ?)"
            database.execute(ages, (UUID(old).hex, UUID(marked).hex))
            mark = "UPDATE test_runs SET deleted_at = '2020-06-04 12:00:00.000000' WHERE id = ?"
            database.execute(mark, (UUID(marked).hex,))

        def runs(query: str) -> set[str]:
            with closing(sqlite3.connect(path)) as database:
                return {str(UUID(row[0])) for row in database.execute(query)}

        async with up(tmp_path, session, PROCTOR_RETENTION_EXPORT=str(archive)) as (process, rest):
            await until(lambda: runs("SELECT id FROM test_runs WHERE deleted_at IS NOT NULL") == {old})
            (file,) = archive.rglob("*.gz")
            assert (file.parent.name, file.name) == ("2020-05", f"{old}.json.gz")
            stored = json.loads(gzip.decompress(file.read_bytes()))
            assert stored["results"] == exported["results"]
            # Nobody sees it any more; its rows follow at a later look, as those of the other have gone now.
            assert (await rest.call("GET", f"/testing/runs/{old}")).status == 404
            assert [run["id"] for run in await rest.get("/testing/runs")] == [kept]
            assert runs("SELECT run_id FROM test_results") == {old, kept}
            assert runs("SELECT run_id FROM run_events") == {old, kept}
            assert await process.end() == 0
