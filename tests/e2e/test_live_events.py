"""Runs watched over HTTP: numbered events, resumed streams, many idle ones, cancels from elsewhere."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.e2e.conftest import Platform
from tests.support.platform_processes import case
from tests.support.rest import PATIENCE, Event, Rest
from tests.support.until import until

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]

STREAMS = 40


async def watched(
    rest: Rest, run: str, *, last: int | None = None, into: list[Event] | None = None
) -> list[Event]:
    """Everything that a stream tells until it ends."""
    seen = [] if into is None else into
    async with asyncio.timeout(PATIENCE):
        async for event in rest.events(run, last=last):
            seen.append(event)
    return seen


def numbered(events: list[Event]) -> list[Event]:
    return [event for event in events if event.id is not None]


async def test_every_watcher_sees_every_numbered_event_once_and_in_order(platform: Platform) -> None:
    fleet, rest = platform.fleet, platform.one
    fleet.bot.hold = asyncio.Event()
    bot = await rest.bot("watched", fleet.bot.bot_url)
    await rest.cases(bot, [case(number) for number in range(8)])
    run = await rest.run(bot)
    early: list[Event] = []
    here = asyncio.create_task(watched(rest, run, into=early))
    there = asyncio.create_task(watched(platform.two, run))
    await until(lambda: any(event.event == "run.started" for event in early))
    fleet.bot.hold.set()
    one, two = await here, await there
    assert [event.id for event in numbered(one)] == list(range(1, len(numbered(one)) + 1))
    assert numbered(two) == numbered(one)
    told = Counter(event.event for event in numbered(one))
    assert told == {"run.started": 1, "case.executed": 8, "run.completed": 1}
    assert one[-1].event == "run.completed"
    # After the end: all of it again, the rest of it, the terminal event alone.
    last = one[-1].id or 0
    assert numbered(await watched(platform.two, run)) == numbered(one)
    assert numbered(await watched(platform.two, run, last=5)) == numbered(one)[5:]
    for beyond in (last, 999):
        assert numbered(await watched(rest, run, last=beyond)) == [one[-1]]


async def test_idle_streams_hold_no_database_connections_and_a_cancel_elsewhere_ends_them(
    platform: Platform,
) -> None:
    fleet = platform.fleet
    small = await fleet.api(await fleet.serve("api", PROCTOR_DATABASE_CONNECTIONS="1"))
    fleet.bot.hold = asyncio.Event()
    bot = await small.bot("idle", fleet.bot.bot_url)
    await small.cases(bot, [case(1), case(2)])
    run = await small.run(bot)
    streams: list[list[Event]] = [[] for _ in range(STREAMS)]
    aborted: list[list[Event]] = [[] for _ in range(STREAMS)]
    staying = [asyncio.create_task(watched(small, run, into=seen)) for seen in streams]
    leaving = [asyncio.create_task(watched(small, run, into=seen)) for seen in aborted]
    await until(lambda: all(streams) and all(aborted))
    for task in leaving:
        task.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)
    # With a pool of one and one more at need, anything that held a connection would stop this.
    async with asyncio.timeout(5):
        views = await asyncio.gather(*(small.view(run) for _ in range(20)))
    assert {view["status"] for view in views} == {"running"}
    await platform.two.post(f"/testing/runs/{run}/cancel")
    ends = await asyncio.gather(*staying)
    assert {(events[-1].event, events[-1].data["status"]) for events in ends} == {
        ("run.completed", "cancelled")
    }
