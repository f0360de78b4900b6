"""How many calls run at once and how many start a minute, per provider and model."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

from .door import Surroundings

__all__ = ["Gate", "Limit", "Limits", "parse_limits"]

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Limit:
    """Calls in flight at once, and calls started a minute; None means no such limit."""

    concurrency: int | None = None
    per_minute: int | None = None


def parse_limits(text: str) -> dict[str, Limit]:
    """Read `anthropic=20:300, openai/gpt-4o=50, groq=:30` (concurrency:per minute; `*` is every other).

    Raises:
        ValueError: naming the entry that cannot be read.
    """
    limits: dict[str, Limit] = {}
    for entry in text.replace(",", " ").split():
        name, equals, numbers = entry.partition("=")
        concurrency, _, per_minute = numbers.partition(":")
        if not (name and equals and (concurrency or per_minute)):
            raise ValueError(f"limit {entry!r} is not provider[/model]=concurrency[:per-minute]")
        limits[name] = Limit(_positive(concurrency, entry), _positive(per_minute, entry))
    return limits


class Gate:
    """Lets calls of one provider and model through; entering waits for a place and a start in the minute."""

    def __init__(self, limit: Limit, surroundings: Surroundings) -> None:
        self._places = asyncio.Semaphore(limit.concurrency) if limit.concurrency else None
        self._per_minute = limit.per_minute
        self._starts: deque[float] = deque()
        self._surroundings = surroundings

    async def __aenter__(self) -> None:
        if self._places is not None:
            await self._places.acquire()
        if self._per_minute is not None:
            try:
                await self._start(self._per_minute)
            except BaseException:
                if self._places is not None:
                    self._places.release()
                raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._places is not None:
            self._places.release()

    async def _start(self, per_minute: int) -> None:
        # A sliding minute: the call may start once the per_minute-th one before it is a minute old.
        while True:
            now = self._surroundings.monotonic()
            while self._starts and self._starts[0] <= now - _MINUTE:
                self._starts.popleft()
            if len(self._starts) < per_minute:
                self._starts.append(now)
                return
            await self._surroundings.sleep(self._starts[0] + _MINUTE - now)


class Limits:
    """The gates of a process, made as models are met; the most specific limit holds."""

    def __init__(self, limits: Mapping[str, Limit], surroundings: Surroundings) -> None:
        self._limits = limits
        self._surroundings = surroundings
        self._gates: dict[tuple[str, str], Gate] = {}

    def gate(self, provider: str, model: str) -> Gate:
        """Give the gate of a provider's model."""
        key = (provider, model)
        gate = self._gates.get(key)
        if gate is None:
            limits = self._limits
            limit = limits.get(f"{provider}/{model}") or limits.get(provider) or limits.get("*") or Limit()
            gate = self._gates[key] = Gate(limit, self._surroundings)
        return gate


def _positive(text: str, entry: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"limit {entry!r}: {text!r} is not a positive whole number")
    return int(text)
