"""What runs beside a command's own run, and what only beside a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from proctor_cli.embedded.boot import Booted, boot
from proctor_cli.embedded.watching import Watching
from proctor_contracts.enums import RunStatus
from proctor_contracts.messages import RunCompleted
from proctor_contracts.summary import RunSummary
from proctor_contracts.topology import ALERTER_RUNS, SCHEDULER_RUNS, Queue

LOOK_EVERY = 0.01


@asynccontextmanager
async def booted(folder: Path, watching: Watching | None) -> AsyncIterator[Booted]:
    url = f"sqlite:///{folder / 'proctor.db'}"
    async with boot(url, env={}, workers=True, watching=watching) as platform:
        yield platform


async def drained(platform: Booted, queue: Queue) -> None:
    """Wait until a queue holds nothing and nobody works on it."""
    never = asyncio.Event()
    while (depth := await platform.bus.depth(queue.name)) and (depth.ready or depth.unacked):
        with suppress(TimeoutError):
            await asyncio.wait_for(never.wait(), LOOK_EVERY)
    assert depth is not None
    assert depth.consumers == 1


@pytest.mark.parametrize("serving", [False, True])
async def test_completed_runs_do_not_pile_up(tmp_path: Path, *, serving: bool) -> None:
    async with booted(tmp_path, Watching.from_env({}) if serving else None) as platform:
        for number in range(5):
            await platform.bus.publish(
                RunCompleted(
                    run_id=UUID(int=number),
                    account_id=platform.api.caller.account_id,
                    integration_id=UUID(int=9),
                    status=RunStatus.COMPLETED,
                    completed_at=datetime.now(UTC),
                    summary=RunSummary(),
                )
            )
        async with asyncio.timeout(20):
            for queue in (SCHEDULER_RUNS, ALERTER_RUNS):
                await drained(platform, queue)
