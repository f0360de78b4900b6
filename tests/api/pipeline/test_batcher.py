"""Group commit: what shares a write, who hears of a failure, and that nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from proctor_api.pipeline.batcher import Batcher, Stopped

PATIENCE = 10.0


class Away(Exception):
    """Concerns every item alike."""


class Writer:
    """Remembers batches; holds the first one while told to; fails on poison."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()
        self.poison: set[int] = set()
        self.away = False
        self.alone = asyncio.Event()
        self.hold_alone = False

    async def __call__(self, items: Sequence[int]) -> None:
        self.batches.append(list(items))
        self.begun.set()
        await self.gate.wait()
        if self.hold_alone and len(items) == 1:
            self.alone.set()
            await asyncio.Event().wait()
        if self.away:
            raise Away
        if self.poison & set(items):
            raise ValueError(f"poison in {items}")


@asynccontextmanager
async def running(writer: Writer, *, max_items: int = 200) -> AsyncIterator[Batcher[int]]:
    batcher: Batcher[int] = Batcher(writer, shared=(Away,), max_items=max_items)
    batcher.start()
    async with asyncio.timeout(PATIENCE):
        try:
            yield batcher
        finally:
            await batcher.stop()


async def test_an_item_alone_is_written_at_once() -> None:
    writer = Writer()
    async with running(writer) as batcher:
        await batcher.add(1)
        await batcher.add(2)
    assert writer.batches == [[1], [2]]


async def test_what_arrives_during_a_write_is_the_next_batch_in_order() -> None:
    writer = Writer()
    writer.gate.clear()
    async with running(writer) as batcher:
        first = asyncio.create_task(batcher.add(0))
        await writer.begun.wait()
        others = [asyncio.create_task(batcher.add(n)) for n in range(1, 8)]
        await asyncio.sleep(0)
        writer.gate.set()
        await asyncio.gather(first, *others)
    assert writer.batches == [[0], [1, 2, 3, 4, 5, 6, 7]]


async def test_batches_have_a_largest_size() -> None:
    writer = Writer()
    async with running(writer, max_items=3) as batcher:
        await asyncio.gather(*(batcher.add(n) for n in range(8)))
    assert writer.batches == [[0, 1, 2], [3, 4, 5], [6, 7]]


async def test_poison_fails_alone() -> None:
    writer = Writer()
    writer.poison = {2}
    async with running(writer) as batcher:
        answers = await asyncio.gather(*(batcher.add(n) for n in range(4)), return_exceptions=True)
        await batcher.add(9)
    assert [type(answer) for answer in answers] == [type(None), type(None), ValueError, type(None)]
    assert writer.batches == [[0, 1, 2, 3], [0], [1], [2], [3], [9]]


async def test_an_outage_concerns_all_and_is_not_tried_one_by_one() -> None:
    writer = Writer()
    writer.away = True
    async with running(writer) as batcher:
        answers = await asyncio.gather(*(batcher.add(n) for n in range(3)), return_exceptions=True)
        assert [type(answer) for answer in answers] == [Away] * 3
        assert writer.batches == [[0, 1, 2]]
        writer.away = False
        await batcher.add(3)


async def test_who_gives_up_waiting_is_left_out() -> None:
    writer = Writer()
    writer.gate.clear()
    async with running(writer) as batcher:
        first = asyncio.create_task(batcher.add(0))
        await writer.begun.wait()
        gone = asyncio.create_task(batcher.add(1))
        stays = asyncio.create_task(batcher.add(2))
        await asyncio.sleep(0)
        gone.cancel()
        writer.gate.set()
        await asyncio.gather(first, stays)
    assert writer.batches == [[0], [2]]
    assert gone.cancelled()


async def test_after_a_stop_nobody_waits_for_ever() -> None:
    writer = Writer()
    writer.gate.clear()
    async with running(writer) as batcher:
        writing = asyncio.create_task(batcher.add(0))
        await writer.begun.wait()
        waiting = asyncio.create_task(batcher.add(1))
        await asyncio.sleep(0)
        await batcher.stop()
        answers = await asyncio.gather(writing, waiting, return_exceptions=True)
        assert [type(answer) for answer in answers] == [Stopped, Stopped]
        with pytest.raises(Stopped):
            await batcher.add(2)


async def test_a_stop_while_items_are_tried_one_by_one_wakes_them_all() -> None:
    writer = Writer()
    writer.poison, writer.hold_alone = {0}, True
    async with running(writer) as batcher:
        adding = [asyncio.create_task(batcher.add(n)) for n in range(4)]
        await writer.alone.wait()
        await batcher.stop()
        answers = await asyncio.gather(*adding, return_exceptions=True)
        assert [type(answer) for answer in answers] == [Stopped] * 4
