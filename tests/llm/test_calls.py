from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from proctor_contracts.egress import EgressRefused
from proctor_contracts.enums import Blame, Provider
from proctor_llm import Completion, Finish, LlmError, LlmErrorCode, Surroundings, Usage
from proctor_llm.calls import Caller, Tally, TryRecord
from proctor_llm.limits import Limit, Limits
from proctor_llm.prices import Prices
from proctor_llm.retry import RetryPolicy

MODEL = "claude-sonnet-4-5"
DONE = Completion(
    text="ok", bubbles=("ok",), finish=Finish.STOP, model=MODEL, latency_ms=1, usage=Usage(10, 0, 0, 10)
)


def caller(
    sleep: Callable[[float], Awaitable[None]],
    tries: list[TryRecord] | None = None,
    limit: Limit | None = None,
) -> Caller:
    surroundings = Surroundings(
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        monotonic=asyncio.get_running_loop().time,
        sleep=sleep,
        rng=random.Random(1),
    )
    return Caller(
        provider=Provider.ANTHROPIC,
        limits=Limits({"*": limit or Limit()}, surroundings),
        prices=Prices.load(),
        policy=RetryPolicy(),
        surroundings=surroundings,
        meter=None if tries is None else tries.append,
    )


def busy(retry_after: float | None = None) -> LlmError:
    return LlmError(
        LlmErrorCode.OVERLOADED, "busy", blame=Blame.PROVIDER, retryable=True, retry_after=retry_after
    )


def soon(seconds: float = 100) -> float:
    return asyncio.get_running_loop().time() + seconds


async def no_wait(_seconds: float) -> None:
    """Wait for nothing."""


async def test_cancelling_interrupts_the_wait_between_tries() -> None:
    waiting, calls = asyncio.Event(), 0

    async def for_ever(_seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def attempt(_tally: Tally) -> Completion:
        nonlocal calls
        calls += 1
        raise busy()

    task = asyncio.create_task(caller(for_ever).call(attempt, model=MODEL, deadline=soon()))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls == 1


async def test_no_place_is_held_while_waiting_between_tries() -> None:
    tries: list[TryRecord] = []
    inside = 0

    async def pause(_seconds: float) -> None:
        assert inside == 0

    async def attempt(_tally: Tally) -> Completion:
        nonlocal inside
        inside += 1
        try:
            if len(tries) == 0:
                raise busy()
            return DONE
        finally:
            inside -= 1

    found = await caller(pause, tries, Limit(1)).call(attempt, model=MODEL, deadline=soon())
    assert found.tries == 2


async def test_the_deadline_leaves_no_room_for_a_wait_and_the_fault_keeps_its_name() -> None:
    async def attempt(_tally: Tally) -> Completion:
        raise busy(retry_after=30)

    with pytest.raises(LlmError) as raised:
        await caller(no_wait).call(attempt, model=MODEL, deadline=soon(20))
    assert raised.value.code is LlmErrorCode.OVERLOADED
    assert "no time is left" in raised.value.message
    assert raised.value.tries == 1


async def test_the_bill_holds_what_every_try_used_and_only_that() -> None:
    tries: list[TryRecord] = []
    used = [Usage(100, 0, 0, 0), None, Usage(0, 0, 0, 1)]

    async def attempt(tally: Tally) -> Completion:
        if used:
            tally.usage = used.pop(0)
            raise busy()
        return DONE

    found = await caller(no_wait, tries).call(attempt, model=MODEL, deadline=soon())
    assert found.usage == Usage(110, 0, 0, 11)
    assert found.cost_micro_usd == 110 * 3 + 11 * 15
    assert found.tries == 4
    assert [one.cost_micro_usd for one in tries] == [300, None, 15, 180]


async def test_an_error_of_a_try_that_hit_its_own_time_is_not_tried_again() -> None:
    calls = 0

    async def attempt(tally: Tally) -> Completion:
        nonlocal calls
        calls += 1
        tally.usage = Usage(7, 0, 0, 0)
        await asyncio.Event().wait()
        return DONE

    with pytest.raises(LlmError) as raised:
        await caller(no_wait).call(attempt, model=MODEL, deadline=soon(), try_seconds=0.02)
    assert (raised.value.code, raised.value.blame) == (LlmErrorCode.TIMEOUT, Blame.PROVIDER)
    assert raised.value.usage == Usage(7, 0, 0, 0)
    assert raised.value.cost_micro_usd == 21
    assert calls == 1


async def test_a_refusal_of_the_policy_is_infrastructure_and_final() -> None:
    async def attempt(_tally: Tally) -> Completion:
        raise EgressRefused("host_not_listed", "add bot.example to PROCTOR_EGRESS_ALLOW")

    with pytest.raises(LlmError) as raised:
        await caller(no_wait).call(attempt, model=MODEL, deadline=soon())
    assert raised.value.code is LlmErrorCode.REFUSED_BY_EGRESS
    assert "add bot.example" in raised.value.message


async def test_a_fault_of_our_own_is_never_dressed_up_as_the_peers() -> None:
    async def attempt(_tally: Tally) -> Completion:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await caller(no_wait).call(attempt, model=MODEL, deadline=soon())
