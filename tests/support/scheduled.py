"""Schedules as their users see them over REST, and waiting for what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.rest import PATIENCE, Rest

__all__ = ["SCHEDULES", "became", "just_now", "nightly", "seen", "ticks"]

LOOK_EVERY = 0.05
SCHEDULES = "/testing/schedules"


def just_now(hours: str = "") -> str:
    """An expression whose last time was two minutes ago and whose next is tomorrow, or as `hours` says."""
    then = datetime.now(UTC) - timedelta(minutes=2)
    return f"{then.minute} {hours or then.hour} * * *"


async def nightly(rest: Rest, bot: str, **more: Any) -> str:
    """Make a schedule that would have been due just now; returns its id."""
    body = {"name": "nightly", "integrationId": bot, "cronExpression": just_now(), **more}
    return str((await rest.post(SCHEDULES, body))["id"])


async def seen(look: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> Any:
    """Look until it holds; returns what was seen then."""
    never = asyncio.Event()
    found: Any = None
    try:
        async with asyncio.timeout(PATIENCE):
            while not holds(found := await look()):
                with suppress(TimeoutError):
                    await asyncio.wait_for(never.wait(), LOOK_EVERY)
    except TimeoutError:
        raise AssertionError(f"it did not get there: {found}") from None
    return found


async def ticks(rest: Rest, schedule: str) -> list[Any]:
    """What became of its planned times, newest first."""
    return list(await rest.get(f"{SCHEDULES}/{schedule}/ticks"))


async def became(rest: Rest, schedule: str, *statuses: str) -> list[Any]:
    """Wait until its planned times are of these statuses, newest first; returns them."""

    async def look() -> list[Any]:
        return await ticks(rest, schedule)

    found: list[Any] = await seen(look, lambda them: [one["status"] for one in them] == list(statuses))
    return found
