"""A client of the API, as an integrator would write one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp

__all__ = ["PATIENCE", "Answer", "Event", "Rest"]

PATIENCE = 60.0
"""Seconds after which something that should happen is called missing."""
LOOK_EVERY = 0.05
FINAL = {"completed", "failed", "cancelled"}


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

    async def ready(self) -> tuple[int, Any]:
        """Ask whether it is ready: status and facts."""
        async with self.session.get(f"{self.url}/readyz") as answer:
            return answer.status, await answer.json()

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
