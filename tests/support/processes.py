"""A service of Proctor in a process of its own, as an operator starts it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

__all__ = ["Process", "service_process"]

PATIENCE = 30.0


@dataclass
class Process:
    """A running service: what it logged, where its probes are, how it ended."""

    running: asyncio.subprocess.Process
    events: list[dict[str, Any]] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def logged(self, event: str) -> dict[str, Any]:
        """Wait for an event of its log."""
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: any(one.get("event") == event for one in self.events))
        return next(one for one in self.events if one.get("event") == event)

    async def probe(self, path: str) -> tuple[int, str]:
        """Ask one of its probes: status and text."""
        port = (await self.logged("health.listening"))["port"]
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}{path}") as response,
        ):
            return response.status, await response.text()

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the exit code."""
        with suppress(ProcessLookupError):
            self.running.send_signal(number)
        return await asyncio.wait_for(self.running.wait(), PATIENCE)

    async def read_log(self) -> None:
        """Collect what it logs; anything that is not an event is kept as its text."""
        assert self.running.stderr is not None
        async for line in self.running.stderr:
            text = line.decode()
            try:
                event = json.loads(text)
            except ValueError:
                event = {"text": text}
            async with self.changed:
                self.events.append(event)
                self.changed.notify_all()


@asynccontextmanager
async def service_process(module: str, **env: str) -> AsyncIterator[Process]:
    """Start `python -m module`; it is killed at the end if it still runs."""
    given = {
        "PATH": os.environ["PATH"],
        "PYTHONWARNINGS": "error",
        "PROCTOR_LOG_FORMAT": "json",
        "PROCTOR_HTTP_PORT": "0",
        **env,
    }
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, stderr=asyncio.subprocess.PIPE, env=given
    )
    process = Process(running)
    reading = asyncio.create_task(process.read_log())
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            running.kill()
        await running.wait()
        await reading
