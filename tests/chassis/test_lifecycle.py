from __future__ import annotations

import asyncio
import os
import signal

import pytest

from proctor_chassis.lifecycle import run_service

PATIENCE = 20


class Service:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.started = asyncio.Event()
        self.stopping = asyncio.Event()
        self.may_stop = asyncio.Event()
        self.may_stop.set()

    async def start(self) -> None:
        self.log.append("start")
        self.started.set()

    async def stop(self) -> None:
        self.log.append("stop")
        self.stopping.set()
        await self.may_stop.wait()
        self.log.append("stopped")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_a_service_in_order(number: signal.Signals) -> None:
    service = Service()
    running = asyncio.create_task(run_service(service.start, service.stop))
    async with asyncio.timeout(PATIENCE):
        await service.started.wait()
        os.kill(os.getpid(), number)
        await running
    assert service.log == ["start", "stop", "stopped"]


async def test_a_second_signal_does_not_wait_for_the_grace() -> None:
    service = Service()
    service.may_stop.clear()
    running = asyncio.create_task(run_service(service.start, service.stop))
    async with asyncio.timeout(PATIENCE):
        await service.started.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await service.stopping.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await running
    assert service.log == ["start", "stop"]


async def test_a_signal_interrupts_a_start_that_hangs() -> None:
    service = Service()
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run_service(hang, service.stop))
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await running
    assert service.log == ["stop", "stopped"]


async def test_a_start_that_fails_is_cleaned_up_and_reported() -> None:
    service = Service()

    async def fail() -> None:
        raise OSError("address in use")

    with pytest.raises(OSError, match="address in use"):
        await run_service(fail, service.stop)
    assert service.log == ["stop", "stopped"]


async def test_an_event_ends_it_like_a_signal() -> None:
    service, until = Service(), asyncio.Event()
    until.set()
    async with asyncio.timeout(PATIENCE):
        await run_service(service.start, service.stop, signals=(), until=until)
    assert service.log[-1] == "stopped"


async def test_signals_are_the_processs_own_again_afterwards() -> None:
    service, until = Service(), asyncio.Event()
    until.set()
    before = signal.getsignal(signal.SIGTERM)
    await run_service(service.start, service.stop, until=until)
    assert signal.getsignal(signal.SIGTERM) == before
