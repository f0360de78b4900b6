"""Several API replicas: one of them dies while it writes the last results of many runs."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from uuid import UUID

import pytest

from tests.e2e.conftest import Platform
from tests.support.broker_client import BrokerClient
from tests.support.platform_processes import case
from tests.support.until import until

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]

RUNS = 10
CASES = 6


async def test_runs_complete_once_when_a_collector_is_killed_while_their_last_results_come_in(
    platform: Platform,
) -> None:
    fleet, rest = platform.fleet, platform.one
    doomed = await fleet.serve("api")
    fleet.bot.hold = asyncio.Event()
    bot = await rest.bot("replicated", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(CASES)])
    async with BrokerClient.on(fleet.amqp_url) as broker:
        completed = await broker.hear("proctor.events", "run.completed")
        runs = [await rest.run(bot) for _ in range(RUNS)]
        await until(lambda: fleet.bot.in_flight == RUNS * CASES)
        fleet.bot.hold.set()
        await until(lambda: fleet.bot.in_flight == 0)
        await doomed.end(signal.SIGKILL)
        views = [await rest.ended(run) for run in runs]
        await until(lambda: len({message.message_id for message in completed.messages}) == RUNS)
    assert {view["status"] for view in views} == {"completed"}
    assert {view["summary"]["passed"] for view in views} == {CASES}
    # The relay sends at least once: a message may come again as it was, but no run completes again.
    facts = {(message.message_id, message.body) for message in completed.messages}
    assert Counter(json.loads(body)["runId"] for _, body in facts) == Counter(runs)
    query = (
        "SELECT run_id, count(*) FILTER (WHERE event = 'run.completed') AS ends, "
        "count(*) FILTER (WHERE event = 'case.executed') AS cases, count(DISTINCT seq) = max(seq) AS gapless "
        "FROM run_events WHERE run_id = ANY($1) GROUP BY run_id"
    )
    rows = await fleet.rows(query, [UUID(run) for run in runs])
    assert [(row["ends"], row["cases"], row["gapless"]) for row in rows] == [(1, CASES, True)] * RUNS
