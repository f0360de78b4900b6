"""The whole product as operators run it: `proctor serve` processes on real servers, and a REST client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp
import asyncpg

from tests.support.processes import Process
from tests.support.rest import PATIENCE, Rest
from tests.support.stub_provider import Reply, Say, Seen, StubProvider, Tool, polite_answer
from tools.servers.probe import plain_dsn

__all__ = ["PROCTOR", "Fleet", "case", "command", "verdict"]

PROCTOR = Path(sys.executable).with_name("proctor")
LOOK_EVERY = 0.05
SECRET = "sk-a-secret-that-no-log-may-show"


@dataclass
class Fleet:
    """Processes on one broker and one database, with a bot under test and a judge model on loopback."""

    amqp_url: str
    database_url: str
    bot: StubProvider
    judge: StubProvider
    session: aiohttp.ClientSession
    closing: AsyncExitStack
    key: str = ""
    processes: list[tuple[str, Process]] = field(default_factory=list)
    expected: set[str] = field(default_factory=set)
    """Events that a test provoked, so that they are no faults."""

    @classmethod
    @asynccontextmanager
    async def on(cls, amqp_url: str, database_url: str) -> AsyncIterator[Self]:
        """A fleet without processes, with an account and its key; the tables are made by the command."""
        async with AsyncExitStack() as closing:
            session = await closing.enter_async_context(aiohttp.ClientSession())
            bot = await closing.enter_async_context(StubProvider())
            judge = await closing.enter_async_context(StubProvider())
            fleet = cls(amqp_url, database_url, bot, judge, session, closing)
            fleet.forget()
            await command("migrate", **fleet.env)
            await command("accounts", "create", "tester", **fleet.env)
            fleet.key = (await command("keys", "create", "--account", "tester", **fleet.env)).strip()
            yield fleet

    @property
    def env(self) -> dict[str, str]:
        return {
            "PROCTOR_AMQP_URL": self.amqp_url,
            "PROCTOR_DATABASE_URL": self.database_url,
            "PROCTOR_EGRESS_ALLOW": "127.0.0.1",
            "PROCTOR_JUDGE_PROVIDER": "anthropic",
            "PROCTOR_JUDGE_MODEL": "claude-sonnet-4-5",
            "ANTHROPIC_BASE_URL": self.judge.anthropic_url,
            "ANTHROPIC_API_KEY": SECRET,
        }

    async def serve(self, service: str, *, ready: bool = True, **env: str) -> Process:
        """Start a service; returns when it has started (or only been told to, when not `ready`)."""
        process = await self.closing.enter_async_context(_running("serve", service, **{**self.env, **env}))
        self.processes.append((service, process))
        if ready:
            await process.logged("service.started")
        return process

    def forget(self) -> None:
        """Make the bot and the judge as they were at the beginning."""
        for stub in (self.bot, self.judge):
            if stub.hold is not None:
                stub.hold.set()
            stub.hold = None
            stub.requests.clear()
        self.bot.answer, self.judge.answer = polite_answer, verdict("pass")

    def dead_letters(self) -> dict[str, str]:
        """The ids of the messages that were given up so far, with the reasons, as the APIs log them."""
        return {
            event["message_id"]: event["reason"]
            for service, process in self.processes
            for event in process.events
            if service == "api" and event.get("event") == "dead_letter"
        }

    async def counted(self, metric: str) -> float:
        """A counter's sum over all series of all API replicas that live."""
        total = 0.0
        for service, process in self.processes:
            if service == "api" and process.running.returncode is None:
                port = (await process.logged("service.started"))["port"]
                async with self.session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                    lines = (await answer.text()).splitlines()
                total += sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(metric))
        return total

    async def counts(self, metric: str, value: float) -> None:
        """Wait until a counter is there."""
        never = asyncio.Event()
        async with asyncio.timeout(PATIENCE):
            while await self.counted(metric) < value:
                with suppress(TimeoutError):
                    await asyncio.wait_for(never.wait(), LOOK_EVERY)
        assert await self.counted(metric) == value

    async def rows(self, query: str, *values: object) -> list[asyncpg.Record]:
        """Ask the database itself."""
        connection = await asyncpg.connect(plain_dsn(self.database_url))
        try:
            return list(await connection.fetch(query, *values))
        finally:
            await connection.close()

    async def api(self, process: Process) -> Rest:
        """A client of this API process."""
        port = (await process.logged("service.started"))["port"]
        return Rest(f"http://127.0.0.1:{port}", self.key, self.session)

    def faults(self) -> list[str]:
        """What no log may hold: tracebacks, errors, lines and events that are not our own, secrets."""
        found = []
        passwords = [url.split("@")[0].rpartition(":")[2] for url in (self.amqp_url, self.database_url)]
        for service, process in self.processes:
            for event in process.events:
                if event.get("event") in self.expected:
                    continue
                line = json.dumps(event, ensure_ascii=False)
                loud = "exception" in event or event.get("level") in {"error", "critical"}
                foreign = not event.get("logger", "").startswith("proctor_")
                if loud or foreign or any(secret in line for secret in (SECRET, self.key, *passwords)):
                    found.append(f"{service}: {line}")
        return found


def case(number: int, *assertions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A case whose message a polite bot repeats, which is what is checked unless something else is given."""
    checks = assertions or ({"kind": "contains", "value": f"№{number}"},)
    return {
        "ref": f"c-{number}",
        "name": f"Кейс {number}",
        "category": "Мова",
        "input": {"kind": "scripted_single", "message": f"Добрий день, це №{number}"},
        "assertions": list(checks),
        **more,
    }


def verdict(word: str) -> Callable[[Seen], Reply]:
    """A judge model that always gives this verdict, as it should be given."""

    def answer(seen: Seen) -> Reply:
        prompt = seen.last_user_text
        nonce = prompt.partition('<transcript id="')[2][:8]
        args = {
            "evidence": [],
            "reasoning": "Так видно з розмови.",
            "basis": "missing",
            "injection_attempt": False,
            "verdict": word,
            "nonce": nonce,
        }
        return Say(tools=(Tool(seen.forced_tool or "grade", args),))

    return answer


async def command(*arguments: str, **env: str) -> str:
    """Run the command to its end; returns what it printed."""
    process = await asyncio.create_subprocess_exec(
        PROCTOR,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **env},
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, err.decode()
    return out.decode()


@asynccontextmanager
async def _running(*arguments: str, **env: str) -> AsyncIterator[Process]:
    """Start the command; at the end it is told to stop, and killed when it does not."""
    given = {
        "PATH": os.environ["PATH"],
        "PYTHONWARNINGS": "error",
        "PROCTOR_LOG_FORMAT": "json",
        "PROCTOR_HTTP_PORT": "0",
        **env,
    }
    running = await asyncio.create_subprocess_exec(
        PROCTOR, *arguments, stderr=asyncio.subprocess.PIPE, limit=2**20, env=given
    )
    process = Process(running)
    reading = asyncio.create_task(process.read_log())
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            running.send_signal(signal.SIGKILL)
        await running.wait()
        await reading
