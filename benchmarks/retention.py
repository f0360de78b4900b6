"""How long cases of a run take while retention deletes 100,000 old results beside it, and while it does not.

The machine's speed drifts, so both are measured within one run, in turns of a few seconds.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import aiohttp
import orjson
from sqlalchemy import text

from benchmarks.copies import copied, held, let_go, waiting
from benchmarks.measure import stub
from benchmarks.real import call, integration, new_account, ready, saved, services
from proctor_store.engine import create_engine
from proctor_store.session import Database
from tests.support.servers import fresh_amqp, fresh_database
from tools.servers import choose

__all__ = ["retention"]

OLD_CASES = 500
COPIES = 200
CASES = 4_000
CONCURRENCY = 20
LATENCY_MS = 50
TURN_SECONDS = 4.0
SETTLING_SECONDS = 0.5
LONGEST_SECONDS = 300
BAR = 1.5
API = (sys.executable, "-m", "benchmarks.eager_api")
ROWS = re.compile(r"^proctor_retention_rows_total\{.*\} ([0-9.e+]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turn:
    """A few seconds in which retention could work or not, and how many rows it deleted in them."""

    began: float
    ended: float
    working: bool
    rows: float

    def of(self, cases: Sequence[tuple[float, float]]) -> list[float]:
        """The seconds of those cases that lie within it, from their way out to their result."""
        began = self.began + SETTLING_SECONDS
        return [came - out for out, came in cases if began <= out and came <= self.ended]


@dataclass(frozen=True, slots=True)
class Bench:
    """The services under test, and the work that they are given."""

    client: aiohttp.ClientSession
    url: str
    bot: str
    ids: Sequence[str]
    database: Database

    async def started(self, ids: Sequence[str]) -> str:
        """Start a run."""
        body = {"integrationId": self.bot, "caseIds": list(ids), "concurrency": CONCURRENCY}
        return str((await call(self.client, "POST", f"{self.url}/api/testing/runs", body))["id"])

    async def deleted(self) -> float:
        """How many rows retention has deleted so far."""
        async with self.client.get(f"{self.url}/metrics") as answer:
            return sum(map(float, ROWS.findall(await answer.text())))

    async def followed(self, run: str) -> Sequence[tuple[float, float]]:
        """When each case was let out, and when a client heard of its result."""
        heard: dict[str, float] = {}
        async with self.client.get(f"{self.url}/api/testing/runs/{run}/events") as stream:
            async for line in stream.content:
                if line.startswith(b"data: ") and (result := orjson.loads(line[6:]).get("resultId")):
                    heard[result] = time.time()
        query = text("SELECT id, dispatched_at FROM test_results WHERE run_id = CAST(:run AS uuid)")
        async with self.database.reading() as unit:
            rows = (await unit.connection.execute(query, {"run": run})).all()
        return [(row.dispatched_at.timestamp(), heard[str(row.id)]) for row in rows]

    async def turn(self, *, working: bool) -> Turn:
        """Let retention work for a while, or not."""
        await (let_go if working else held)(self.database)
        before, began = await self.deleted(), time.time()
        await asyncio.sleep(TURN_SECONDS)
        return Turn(began, time.time(), working, await self.deleted() - before)

    async def played(self) -> tuple[Sequence[Turn], Sequence[tuple[float, float]]]:
        """Play a run, and let retention work and rest in turns until its end."""
        following = asyncio.create_task(self.followed(await self.started(self.ids)))
        turns: list[Turn] = []
        while not following.done():
            turns.append(await self.turn(working=len(turns) % 2 == 1))
        await held(self.database)
        return turns, await following

    async def emptied(self) -> float:
        """Wait until retention is done; returns how many rows a second it deleted with nothing beside it."""
        before, began = await self.deleted(), time.time()
        await let_go(self.database)
        for _ in range(LONGEST_SECONDS * 4):
            if not await waiting(self.database):
                break
            await asyncio.sleep(0.25)
        return (await self.deleted() - before) / (time.time() - began)


def described(
    turns: Sequence[Turn], cases: Sequence[tuple[float, float]]
) -> Mapping[bool, tuple[float, float]]:
    """Seconds that one case in twenty exceeds and results a second, with and without retention at work."""
    found = {}
    for working in (False, True):
        mine = [one for one in turns if one.working is working]
        seconds = [took for one in mine for took in one.of(cases)]
        heard = sum(one.began <= came <= one.ended for one in mine for _, came in cases)
        found[working] = (quantiles(seconds, n=20)[-1], heard / sum(one.ended - one.began for one in mine))
    return found


async def compared(bench: Bench, *, rounds: int) -> None:
    """Play runs and print what retention did to them."""
    old = await bench.started(bench.ids[:OLD_CASES])
    await bench.followed(old)
    await held(bench.database)
    await copied(bench.database, old, copies=COPIES)
    ratios = []
    for number in range(1, rounds + 1):
        turns, cases = await bench.played()
        # The last turn is cut short by the end of the run.
        seen = described(turns[:-1], cases)
        (rest, calm), (work, busy) = seen[False], seen[True]
        ratios.append(work / rest)
        rate = sum(one.rows for one in turns) / sum(one.ended - one.began for one in turns if one.working)
        print(
            f"  {number}: p95 of a case {rest * 1000:4.0f} ms without, {work * 1000:4.0f} ms beside it;"
            f" {calm:3.0f} and {busy:3.0f} results/s; {rate:6,.0f} rows/s deleted",
            flush=True,
        )
    if not await waiting(bench.database):
        print("  everything was deleted before the last run ended: these figures say too little")
    alone = await bench.emptied()
    print(
        f"  p95 of a case beside retention: {median(ratios):.2f}x (bar {BAR}x);"
        f" with nothing beside it {alone:,.0f} rows/s deleted"
    )


async def measured(url: str, key: str, model: str, database_url: str, *, rounds: int) -> None:
    """Prepare the work and do it."""
    database = Database(create_engine(database_url))
    headers = {"Authorization": f"Bearer {key}"}
    try:
        async with aiohttp.ClientSession(headers=headers) as client:
            await ready(client, url)
            bot = await integration(client, url, model)
            ids = await saved(client, url, bot, count=CASES)
            await compared(Bench(client, url, bot, ids, database), rounds=rounds)
    finally:
        await database.close()


def retention(*, rounds: int) -> None:
    """Print the table."""
    servers = choose.ensure()
    print(
        f"\nretention of {OLD_CASES * COPIES:,} results in {COPIES} runs, beside runs of {CASES:,} cases, "
        f"{CONCURRENCY} at once, {LATENCY_MS} ms a model call"
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environment = {
            "PROCTOR_AMQP_URL": stack.enter_context(fresh_amqp(servers)),
            "PROCTOR_DATABASE_URL": stack.enter_context(fresh_database(servers)),
            "PROCTOR_EGRESS_ALLOW": "127.0.0.0/8",
            # What is old is marked by the benchmark itself; the claim says when retention may work.
            "PROCTOR_RETENTION_DAYS": "never",
        }
        key = new_account(environment)
        model = stack.enter_context(stub(LATENCY_MS))
        url, _ = stack.enter_context(services(environment, folder, api=API))
        try:
            asyncio.run(measured(url, key, model, environment["PROCTOR_DATABASE_URL"], rounds=rounds))
        except BaseException:
            for log in sorted(folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-3000:]}")
            raise
