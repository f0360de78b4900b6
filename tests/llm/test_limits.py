from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime

import pytest

from proctor_llm import Surroundings
from proctor_llm.limits import Gate, Limit, Limits, parse_limits


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.at = 0.0

    async def pause(self, seconds: float) -> None:
        self.at += seconds

    def surroundings(self) -> Surroundings:
        return Surroundings(
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            monotonic=lambda: self.at,
            sleep=self.pause,
            rng=random.Random(1),
        )


def test_limits_are_read_per_provider_and_model() -> None:
    assert parse_limits("anthropic=20:300, openai/gpt-4o=50 groq=:30,*=5") == {
        "anthropic": Limit(20, 300),
        "openai/gpt-4o": Limit(50, None),
        "groq": Limit(None, 30),
        "*": Limit(5, None),
    }
    assert parse_limits("") == {}


@pytest.mark.parametrize("text", ["anthropic", "anthropic=", "=5", "a=0", "a=-1", "a=x", "a=1:0"])
def test_a_limit_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="limit"):
        parse_limits(text)


async def test_no_more_run_at_once_than_the_limit() -> None:
    gate = Gate(Limit(concurrency=3), Time().surroundings())
    running = most = 0
    inside, go = asyncio.Semaphore(0), asyncio.Event()

    async def one() -> None:
        nonlocal running, most
        async with gate:
            running += 1
            most = max(most, running)
            inside.release()
            await go.wait()
            running -= 1

    tasks = [asyncio.create_task(one()) for _ in range(20)]
    for _ in range(3):
        await inside.acquire()
    go.set()
    await asyncio.gather(*tasks)
    assert most == 3


async def test_starts_are_spread_so_that_no_minute_has_more_than_the_limit() -> None:
    time = Time()
    gate = Gate(Limit(per_minute=2), time.surroundings())
    starts: list[float] = []
    for _ in range(5):
        async with gate:
            starts.append(time.at)
    assert starts == [0.0, 0.0, 60.0, 60.0, 120.0]


async def test_a_cancelled_wait_gives_its_place_back() -> None:
    gate = Gate(Limit(concurrency=1), Time().surroundings())
    async with gate:
        waiting = asyncio.create_task(gate.__aenter__())
        done, _ = await asyncio.wait({waiting}, timeout=0.01)
        assert not done
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await asyncio.wait_for(gate.__aenter__(), 1)


async def test_the_most_specific_limit_holds_and_models_do_not_share_gates() -> None:
    limits = Limits({"a": Limit(1), "a/m": Limit(2), "*": Limit(3)}, Time().surroundings())
    assert limits.gate("a", "m") is limits.gate("a", "m")
    assert limits.gate("a", "m") is not limits.gate("a", "n")
    async with limits.gate("a", "m"):
        await asyncio.wait_for(limits.gate("a", "m").__aenter__(), 1)
