"""What the adapters need from the outside: a way out, secrets, and time that tests can move."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Door", "SecretSource", "Surroundings"]


class Door(Protocol):
    """Sends requests under the egress policy; what may not leave raises EgressRefused."""

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
        timeout: aiohttp.ClientTimeout = ...,
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Open one request; entering gives the response with its body unread."""
        ...


class SecretSource(Protocol):
    """Finds secrets by name."""

    def find(self, name: str) -> str | None:
        """Give a secret's value, or None."""
        ...

    def how_to_set(self, name: str) -> str:
        """Say what to set so that a secret is found."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Clock, randomness and sleep: `now` is wall time in UTC, `monotonic` the loop's time in seconds."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    rng: random.Random
