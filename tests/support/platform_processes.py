"""The whole product as operators run it: `proctor serve` processes on real servers, and a REST client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp

from tests.support.processes import Process
from tests.support.stub_provider import Reply, Say, Seen, StubProvider, Tool, polite_answer

__all__ = ["PATIENCE", "PROCTOR", "Answer", "Event", "Fleet", "Rest", "command", "verdict"]

PROCTOR = Path(sys.executable).with_name("proctor")
PATIENCE = 60.0
"""Seconds after which something that should happen is called missing."""
LOOK_EVERY = 0.05
FINAL = {"completed", "failed", "cancelled"}
SECRET = "sk-a-secret-that-no-log-may-show"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API answered."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def data(self) -> Any:
        assert self.status < 400, (self.status, self.body)
        return self.body["data"]


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; `id` is None for transient ones."""

    id: int | None
    event: str
    data: Any


@dataclass
class Rest:
    """A client of one API replica."""

    url: str
    key: str
    session: aiohttp.ClientSession

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Ask; the path is below /api."""
        given = {"Authorization": f"Bearer {self.key}", **headers}
        async with self.session.request(method, f"{self.url}/api{path}", json=body, headers=given) as answer:
            text = await answer.text()
            return Answer(answer.status, json.loads(text) if text else None, dict(answer.headers))

    async def get(self, path: str) -> Any:
        return (await self.call("GET", path)).data

    async def post(self, path: str, body: Any = None) -> Any:
        return (await self.call("POST", path, body)).data

    async def bot(self, name: str, url: str, **more: Any) -> str:
        """Make an integration that answers at this URL as StubProvider's bot does; returns its id."""
        endpoint = {"url": url, "body": {"message": "{{message}}"}, "replyPath": "$.answer", **more}
        body = {"name": name, "provider": "http", "endpoint": endpoint}
        return str((await self.post("/integrations", body))["id"])

    async def cases(self, integration: str, cases: list[dict[str, Any]]) -> list[str]:
        """Save cases; returns their ids."""
        body = {"integrationId": integration, "cases": cases}
        return list((await self.post("/testing/cases/bulk", body))["ids"])

    async def run(self, integration: str, **more: Any) -> str:
        """Start a run of all cases (or as `more` says); returns its id."""
        body = {"integrationId": integration, **({} if "caseIds" in more else {"caseFilter": {}}), **more}
        return str((await self.post("/testing/runs", body))["id"])

    async def view(self, run: str) -> Any:
        return await self.get(f"/testing/runs/{run}")

    async def until(self, run: str, condition: Callable[[Any], bool]) -> Any:
        """Look at a run until it is so; returns it. Looking may fail meanwhile."""
        view: Any = None
        never = asyncio.Event()
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    with suppress(aiohttp.ClientError):
                        answer = await self.call("GET", f"/testing/runs/{run}")
                        if answer.status == 200 and condition(view := answer.data):
                            return view
                    with suppress(TimeoutError):
                        await asyncio.wait_for(never.wait(), LOOK_EVERY)
        except TimeoutError:
            seen = None if view is None else {"status": view["status"], "progress": view["progress"]}
            raise AssertionError(f"run {run} did not get there: {seen}") from None

    async def ended(self, run: str) -> Any:
        """Wait for a run's end."""
        return await self.until(run, lambda view: view["status"] in FINAL)

    async def results(self, run: str) -> list[Any]:
        """Read all results."""
        found: list[Any] = []
        cursor = ""
        while True:
            answer = await self.call("GET", f"/testing/runs/{run}/results?take=100{cursor}")
            found += answer.data["results"]
            if answer.body["meta"].get("nextCursor") is None:
                return found
            cursor = f"&cursor={answer.body['meta']['nextCursor']}"

    async def events(self, run: str, *, last: int | None = None) -> AsyncIterator[Event]:
        """Follow a run's events until the server ends the stream."""
        headers = {"Authorization": f"Bearer {self.key}"} | (
            {} if last is None else {"Last-Event-ID": str(last)}
        )
        url = f"{self.url}/api/testing/runs/{run}/events"
        async with self.session.get(url, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            fields: dict[str, str] = {}
            async for raw in answer.content:
                line = raw.decode().rstrip("\n")
                if line and not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif not line:
                    if "event" in fields:
                        number = int(fields["id"]) if "id" in fields else None
                        yield Event(number, fields["event"], json.loads(fields["data"]))
                    fields = {}


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

    async def api(self, process: Process) -> Rest:
        """A client of this API process."""
        port = (await process.logged("service.started"))["port"]
        return Rest(f"http://127.0.0.1:{port}", self.key, self.session)

    def faults(self) -> list[str]:
        """What no log may hold: tracebacks, errors, lines that are no events, secrets."""
        found = []
        passwords = [url.split("@")[0].rpartition(":")[2] for url in (self.amqp_url, self.database_url)]
        for service, process in self.processes:
            for event in process.events:
                line = json.dumps(event, ensure_ascii=False)
                loud = "text" in event or "exception" in event or event.get("level") in {"error", "critical"}
                if loud or any(secret in line for secret in (SECRET, self.key, *passwords)):
                    found.append(f"{service}: {line}")
        return found


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
