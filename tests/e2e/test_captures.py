"""Captures in the whole product: the example publisher, the broker, an API that restarts, one row."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any
from uuid import UUID, uuid4

import aio_pika
import pytest
import pytest_asyncio
from aio_pika.exceptions import AMQPError

from proctor_contracts.topology import API_CAPTURES, EVENTS, MAX_BODY_BYTES
from tests.e2e.conftest import Platform
from tests.support.broker_client import BrokerClient
from tests.support.platform_processes import Fleet
from tests.support.processes import Process
from tests.support.repository import ROOT
from tests.support.servers import fresh_amqp, fresh_database, restricted_user
from tests.support.until import until
from tools.servers.model import Servers

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="package")]

PUBLISHER = ROOT / "examples/sofa/publisher.py"
CAPTURE = ROOT / "examples/sofa/capture.json"
EVENT = "capture.recorded"


async def published(fleet: Fleet, integration: str, *more: str) -> tuple[int | None, str]:
    """Run the example to its end; returns its code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        PUBLISHER,
        CAPTURE,
        f"--integration={integration}",
        f"--amqp={fleet.amqp_url}",
        *more,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "PYTHONWARNINGS": "error"},
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode()


@pytest_asyncio.fixture(loop_scope="package")
async def fleet(servers: Servers) -> Any:
    with fresh_amqp(servers) as amqp_url, fresh_database(servers) as database_url:
        async with Fleet.on(amqp_url, database_url) as fleet:
            yield fleet
            assert fleet.faults() == []


def received(*processes: Process) -> int:
    return sum(event.get("event") == "capture.received" for process in processes for event in process.events)


async def test_the_same_capture_five_times_while_the_api_restarts_is_one_row(fleet: Fleet) -> None:
    first = await fleet.serve("api")
    rest = await fleet.api(first)
    bot = await rest.bot("sofa", fleet.bot.bot_url)
    assert await published(fleet, bot) == (0, f"confirmed {bot}:chat-2026-05-13-abc\n")
    await until(lambda: received(first) == 1)

    async def restart() -> Process:
        await first.end(signal.SIGKILL)
        return await fleet.serve("api")

    (code, printed), second = await asyncio.gather(published(fleet, bot, "--times=3"), restart())
    assert (code, printed.count("confirmed")) == (0, 3)
    assert (await published(fleet, bot))[0] == 0
    await until(lambda: received(first, second) >= 5)
    async with BrokerClient.on(fleet.amqp_url) as broker:
        await broker.holds(API_CAPTURES.name, 0)
    rows = await fleet.rows("SELECT * FROM captured_conversations WHERE integration_id = $1", UUID(bot))
    assert len(rows) == 1
    (capture,) = await (await fleet.api(second)).get(f"/testing/captures?integrationId={bot}")
    assert (capture["status"], capture["source"]) == ("new", "sofa")
    assert capture["transcript"][0]["content"].startswith("Добрий день, це [name-1] [name-2].")
    assert capture["transcript"][1]["content"].startswith("Вітаю, [name-1]!")
    assert capture["transcript"][2]["content"] == "[phone-1]"
    (call,) = capture["transcript"][3]["toolCalls"]
    assert json.loads(call["argsRaw"]) == {"phone": "[phone-1]"}
    assert capture["metadata"]["user"] == {"name": "[name-1] [name-2]"}
    assert fleet.dead_letters() == {}


async def test_a_capture_that_was_sent_while_no_api_ran_is_kept_when_one_does(fleet: Fleet) -> None:
    api = await fleet.serve("api")
    bot = await (await fleet.api(api)).bot("sofa", fleet.bot.bot_url)
    await api.end(signal.SIGTERM)
    assert (await published(fleet, bot, "--times=2"))[0] == 0
    api = await fleet.serve("api")
    await until(lambda: received(api) == 2)
    assert len(await (await fleet.api(api)).get(f"/testing/captures?integrationId={bot}")) == 1


async def test_a_user_who_may_write_captures_alone_can_publish_them_and_nothing_else(
    fleet: Fleet, servers: Servers
) -> None:
    api = await fleet.serve("api")
    bot = await (await fleet.api(api)).bot("sofa", fleet.bot.bot_url)
    with restricted_user(servers, fleet.amqp_url, exchange=EVENTS.name, key=EVENT) as url:
        assert (await published(fleet, bot, f"--amqp={url}"))[0] == 0
        await until(lambda: received(api) == 1)
        connection = await aio_pika.connect(url)
        async with connection:
            exchange = await (await connection.channel()).get_exchange(EVENTS.name, ensure=False)
            with pytest.raises(AMQPError, match="ACCESS_REFUSED"):
                await exchange.publish(aio_pika.Message(b"{}"), routing_key="case.executed")


async def test_the_publisher_says_when_nothing_receives_captures(fleet: Fleet) -> None:
    code, printed = await published(fleet, str(uuid4()), "--patience=5")
    assert code == 1
    assert "not sent" in printed


async def test_what_cannot_be_kept_is_counted_by_its_reason_and_stops_nothing(platform: Platform) -> None:
    fleet = platform.fleet
    fleet.expected |= {"dead_letter", "bus.message_refused", "bus.message_given_up"}
    bot = await platform.one.bot("refusing", fleet.bot.bot_url)
    before = fleet.dead_letters()

    def event(name: str, **more: Any) -> bytes:
        spoken = [{"role": "user", "content": "Привіт"}]
        return json.dumps({"integrationId": bot, "externalId": name, "transcript": spoken, **more}).encode()

    wrong = {
        "unknown": (event("a", integrationId=str(uuid4())), "permanent:unknown_integration"),
        "malformed": (b'{"integrationId": ', "undecodable"),
        "deep": (b'{"metadata": ' + b"[" * 20_000, "undecodable"),
        "silent": (event("b", transcript=[]), "undecodable"),
        "long": (event("c", transcript=[{"role": "user", "content": "x" * 800_000}]), "permanent:too_large"),
        "oversized": (event("d", metadata={"x": "x" * 3 * MAX_BODY_BYTES}), "message_too_large"),
    }
    async with BrokerClient.on(fleet.amqp_url) as broker:
        for name, (body, _) in wrong.items():
            await broker.send(EVENTS.name, EVENT, body, message_id=f"refused-{name}")
        await broker.send(EVENTS.name, EVENT, event("good"), message_id="good")
    await until(lambda: len(fleet.dead_letters()) - len(before) == len(wrong))
    letters = fleet.dead_letters()
    assert {name: letters[f"refused-{name}"] for name in wrong} == {
        name: reason for name, (_, reason) in wrong.items()
    }
    for reason in {reason for _, reason in wrong.values()}:
        count = sum(reason == other for _, other in wrong.values())
        await fleet.counts(f'proctor_captures_refused_total{{reason="{reason}"}}', count)
    await fleet.counts('proctor_captures_total{outcome="new",source="sofa"}', 1)
    (kept,) = await platform.two.get(f"/testing/captures?integrationId={bot}")
    assert kept["externalId"] == "good"
