from __future__ import annotations

import asyncio
from uuid import UUID

from proctor_chassis.bus import Listener
from proctor_chassis.bus.hearing import MAX_UNHEARD, Ear
from proctor_contracts.messages import LiveHint
from proctor_contracts.topology import LIVE
from tests.bus.world import PATIENCE, Collected


def hint(seq: int) -> bytes:
    return LiveHint(run_id=UUID(int=1), seq=seq).model_dump_json().encode()


async def test_a_slow_listener_loses_the_oldest_and_memory_stays_bounded() -> None:
    heard, gate, entered = Collected(), asyncio.Event(), asyncio.Event()

    async def slow(message: LiveHint) -> None:
        entered.set()
        await gate.wait()
        await heard.add(message.seq)

    ear = Ear(Listener(exchange=LIVE, models={"live.hint": LiveHint}, handler=slow))
    ear.hear("live.hint", hint(0))
    async with asyncio.timeout(PATIENCE):
        await entered.wait()
    for seq in range(1, MAX_UNHEARD + 6):
        ear.hear("live.hint", hint(seq))
    gate.set()
    assert await heard.first(MAX_UNHEARD + 1) == [0, *range(6, MAX_UNHEARD + 6)]
    ear.close()


async def test_what_is_not_wanted_or_not_readable_is_skipped() -> None:
    heard = Collected()

    async def handler(message: LiveHint) -> None:
        await heard.add(message.seq)

    ear = Ear(Listener(exchange=LIVE, models={"live.hint": LiveHint}, handler=handler))
    ear.hear("run.cancelled", b"{}")
    ear.hear("live.hint", b"{")
    ear.hear("live.hint", hint(3))
    assert await heard.first(1) == [3]
    ear.close()
