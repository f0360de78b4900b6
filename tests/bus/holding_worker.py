"""A worker to be killed: takes one message, says so, and never finishes it."""

from __future__ import annotations

import asyncio
import sys

from proctor_chassis.bus import Meta
from proctor_chassis.bus.rabbit import RabbitBus
from proctor_contracts.messages import CaseExecuted
from tests.bus.world import collector, number_of


async def main(url: str) -> None:
    async def hold(message: CaseExecuted, _meta: Meta) -> None:
        sys.stdout.write(f"holding {number_of(message)}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()

    bus = RabbitBus(url)
    await bus.start([collector(hold)])
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))
