"""What the behaviour suite needs of an adapter, and what it watches handlers with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from proctor_chassis.bus import Bus, DeadLetter, DeadSubscription, Meta, RetryPolicy, Subscription
from proctor_contracts.messages import CaseExecuted, CaseJudged, Message
from proctor_contracts.topology import COLLECTOR_RESULTS

__all__ = ["PATIENCE", "Collected", "World", "collector", "dead_collector", "executed", "number_of", "taking"]

PATIENCE = 20.0
"""Seconds after which something that should happen is called missing."""
AT = datetime(2026, 1, 1, tzinfo=UTC)
T = TypeVar("T")


class World(Protocol):
    """One broker and the processes on it."""

    async def bus(self, *, pools: tuple[str, ...] = ()) -> Bus:
        """A process's bus; inside one process, the one bus."""
        ...

    async def rung(self) -> None:
        """Let one delayed message return."""
        ...


@dataclass
class Collected:
    """A list that can be awaited."""

    items: list[Any] = field(default_factory=list)
    _grown: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def add(self, item: Any) -> None:
        async with self._grown:
            self.items.append(item)
            self._grown.notify_all()

    def has(self, item: Any) -> bool:
        return item in self.items

    async def first(self, count: int) -> list[Any]:
        async with asyncio.timeout(PATIENCE), self._grown:
            await self._grown.wait_for(lambda: len(self.items) >= count)
        return self.items[:count]


def executed(number: int, **more: Any) -> CaseExecuted:
    """A small message that can be told apart by its number."""
    return CaseExecuted(
        run_id=UUID(int=1),
        result_id=UUID(int=2),
        case_id=UUID(int=number),
        started_at=AT,
        finished_at=AT,
        **more,
    )


def number_of(message: CaseExecuted) -> int:
    return message.case_id.int


def collector(
    handler: Callable[[Any, Meta], Awaitable[None]],
    *,
    concurrency: int = 8,
    max_failures: int = 3,
    timeout_seconds: float | None = None,
) -> Subscription:
    models: dict[str, type[Message]] = {"case.executed": CaseExecuted, "case.judged": CaseJudged}
    return Subscription(
        queue=COLLECTOR_RESULTS,
        models=models,
        handler=handler,
        concurrency=concurrency,
        retry=RetryPolicy(max_failures=max_failures),
        timeout_seconds=timeout_seconds,
    )


def taking(collected: Collected) -> Callable[[Any, Meta], Awaitable[None]]:
    """A handler that remembers the number of each message."""

    async def handler(message: CaseExecuted, _meta: Meta) -> None:
        await collected.add(number_of(message))

    return handler


def dead_collector(collected: Collected) -> DeadSubscription:
    async def handler(letter: DeadLetter) -> None:
        await collected.add(letter)

    return DeadSubscription(handler=handler)
