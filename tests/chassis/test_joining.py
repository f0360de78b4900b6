from __future__ import annotations

import asyncio

import pytest

from proctor_chassis.bus.errors import RetryLater
from proctor_chassis.joining import JobCancelled, Joined
from tests.support.manual_clock import ManualClock


class Conversation:
    """Counts how often it was held; waits to be let go."""

    def __init__(self) -> None:
        self.held = 0
        self.cancelled = 0
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()

    async def hold(self) -> str:
        self.held += 1
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return f"answer {self.held}"


async def lose(awaiting: asyncio.Task[str]) -> None:
    """Do to a handler what a lost channel does."""
    awaiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await awaiting


async def test_deliveries_of_one_job_share_its_conversation() -> None:
    joined, talk = Joined[str](), Conversation()
    waiting = [asyncio.create_task(joined.run("job", talk.hold)) for _ in range(3)]
    await talk.begun.wait()
    assert joined.in_flight == ("job",)
    talk.go_on.set()
    assert await asyncio.gather(*waiting) == ["answer 1"] * 3
    assert talk.held == 1
    assert not joined.in_flight


async def test_a_lost_channel_cancels_the_wait_and_not_the_conversation() -> None:
    joined, talk = Joined[str](), Conversation()
    first = asyncio.create_task(joined.run("job", talk.hold))
    await talk.begun.wait()
    await lose(first)
    second = asyncio.create_task(joined.run("job", talk.hold))
    talk.go_on.set()
    assert await second == "answer 1"
    assert (talk.held, talk.cancelled) == (1, 0)


async def test_a_result_nobody_awaited_is_kept_for_a_minute() -> None:
    clock, talk = ManualClock(), Conversation()
    joined = Joined[str](clock=clock)
    first = asyncio.create_task(joined.run("job", talk.hold))
    await talk.begun.wait()
    await lose(first)
    talk.go_on.set()
    await joined.run("other", talk.hold)
    clock.advance(59)
    assert await joined.run("job", talk.hold) == "answer 1"
    clock.advance(2)
    assert await joined.run("job", talk.hold) == "answer 3"


async def test_only_the_latest_results_are_kept() -> None:
    joined, talk = Joined[str](keep=2), Conversation()
    talk.go_on.set()
    for job in ("a", "b", "c"):
        await joined.run(job, talk.hold)
    assert await joined.run("c", talk.hold) == "answer 3"
    assert await joined.run("a", talk.hold) == "answer 4"


async def test_a_failed_conversation_is_tried_anew() -> None:
    joined = Joined[str]()
    calls: list[int] = []

    async def fail_once() -> str:
        calls.append(len(calls))
        if len(calls) == 1:
            raise ValueError("a bug")
        return "well"

    with pytest.raises(ValueError, match="a bug"):
        await joined.run("job", fail_once)
    assert await joined.run("job", fail_once) == "well"


async def test_a_failure_that_nobody_awaits_is_not_shouted_about() -> None:
    joined, go_on, begun = Joined[str](), asyncio.Event(), asyncio.Event()

    async def fail() -> str:
        begun.set()
        await go_on.wait()
        raise ValueError("unheard")

    first = asyncio.create_task(joined.run("job", fail))
    await begun.wait()
    await lose(first)
    go_on.set()
    with pytest.raises(ValueError, match="unheard"):
        await joined.run("job", fail)


async def test_cancelling_a_run_drops_its_jobs_and_tells_who_awaits() -> None:
    joined, mine, other = Joined[str](), Conversation(), Conversation()
    dropped = asyncio.create_task(joined.run("run-1:case", mine.hold))
    kept = asyncio.create_task(joined.run("run-2:case", other.hold))
    await mine.begun.wait()
    await other.begun.wait()
    assert joined.cancel(lambda job: job.startswith("run-1:")) == 1
    # Not CancelledError: a handler that looks cancelled never acknowledges its message.
    with pytest.raises(JobCancelled):
        await dropped
    other.go_on.set()
    assert await kept == "answer 1"
    assert (mine.cancelled, other.cancelled) == (1, 0)


async def test_a_cancelled_job_may_be_asked_for_again() -> None:
    joined, talk = Joined[str](), Conversation()
    first = asyncio.create_task(joined.run("job", talk.hold))
    await talk.begun.wait()
    joined.cancel(lambda _job: True)
    with pytest.raises(JobCancelled):
        await first
    talk.go_on.set()
    assert await joined.run("job", talk.hold) == "answer 2"


async def test_a_stopping_worker_hands_its_jobs_back() -> None:
    joined, talk = Joined[str](), Conversation()
    first = asyncio.create_task(joined.run("job", talk.hold))
    await talk.begun.wait()
    await joined.cancel_all()
    with pytest.raises(RetryLater):
        await first
    with pytest.raises(RetryLater):
        await joined.run("next", talk.hold)
    assert (talk.held, talk.cancelled) == (1, 1)


async def test_a_timeout_of_the_handler_leaves_the_conversation_to_the_next_delivery() -> None:
    joined, talk = Joined[str](), Conversation()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await joined.run("job", talk.hold)
    talk.go_on.set()
    assert await joined.run("job", talk.hold) == "answer 1"
