"""What a bus does with transient messages; every adapter's test module runs all of this."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from proctor_chassis.bus import Listener
from proctor_contracts.messages import LiveEvent, LiveHint, RunCancelled, Transient, WorkerHeartbeat
from proctor_contracts.topology import CONTROL, LIVE
from tests.bus.world import Collected, World

BEAT = WorkerHeartbeat(
    worker_id="w1",
    service="runner",
    concurrency=4,
    in_flight=("a:b:1:1",),
    at=datetime(2026, 1, 1, tzinfo=UTC),
)


async def test_every_process_hears_an_announcement(world: World) -> None:
    one, two = await world.bus(), await world.bus()
    by_one, by_two = Collected(), Collected()
    models: dict[str, type[Transient]] = {"run.cancelled": RunCancelled}
    await one.start(listeners=[Listener(exchange=CONTROL, models=models, handler=by_one.add)])
    await two.start(listeners=[Listener(exchange=CONTROL, models=models, handler=by_two.add)])
    sent = RunCancelled(run_ids=(UUID(int=1), UUID(int=2)))
    await one.announce(sent)
    assert await by_one.first(1) == [sent]
    assert await by_two.first(1) == [sent]


async def test_a_listener_hears_only_the_types_and_keys_it_asked_for(world: World) -> None:
    bus, beats, mine = await world.bus(), Collected(), Collected()
    await bus.start(
        listeners=[
            Listener(exchange=CONTROL, models={"worker.heartbeat": WorkerHeartbeat}, handler=beats.add),
            Listener(
                exchange=LIVE,
                key=f"live.run.{UUID(int=1)}",
                models={"live.hint": LiveHint, "live.event": LiveEvent},
                handler=mine.add,
            ),
        ]
    )
    await bus.announce(RunCancelled(run_ids=(UUID(int=1),)))
    await bus.announce(BEAT)
    await bus.announce(LiveHint(run_id=UUID(int=2), seq=1))
    await bus.announce(LiveHint(run_id=UUID(int=1), seq=2))
    await bus.announce(LiveEvent(run_id=UUID(int=1), event="case.started", data={"case": "x"}))
    assert await beats.first(1) == [BEAT]
    heard = await mine.first(2)
    assert heard == [
        LiveHint(run_id=UUID(int=1), seq=2),
        LiveEvent(run_id=UUID(int=1), event="case.started", data={"case": "x"}),
    ]
    assert beats.items == [BEAT]


async def test_a_pattern_hears_every_run_in_order(world: World) -> None:
    bus, heard = await world.bus(), Collected()
    await bus.start(
        listeners=[
            Listener(exchange=LIVE, key="live.run.*", models={"live.hint": LiveHint}, handler=heard.add)
        ]
    )
    for seq in range(50):
        await bus.announce(LiveHint(run_id=UUID(int=seq % 3), seq=seq))
    assert [hint.seq for hint in await heard.first(50)] == list(range(50))


async def test_a_listener_that_fails_goes_on_hearing(world: World) -> None:
    bus, heard = await world.bus(), Collected()
    calls: list[int] = []

    def plain(hint: LiveHint) -> None:
        calls.append(hint.seq)
        if hint.seq == 0:
            raise ValueError("a bug in a listener")

    async def after(hint: LiveHint) -> None:
        await heard.add(hint.seq)
        if hint.seq == 0:
            raise ValueError("another")

    models: dict[str, type[Transient]] = {"live.hint": LiveHint}
    await bus.start(
        listeners=[
            Listener(exchange=LIVE, models=models, handler=plain),
            Listener(exchange=LIVE, models=models, handler=after),
        ]
    )
    for seq in range(3):
        await bus.announce(LiveHint(run_id=UUID(int=1), seq=seq))
    assert await heard.first(3) == [0, 1, 2]
    assert calls == [0, 1, 2]


async def test_an_announcement_to_nobody_is_fine(world: World) -> None:
    bus = await world.bus()
    await bus.announce(BEAT)
    await bus.start()
    await bus.announce(BEAT)
    await bus.stop(grace_seconds=1)
    await bus.announce(BEAT)
    assert not bus.connected


async def test_a_paused_bus_still_hears_what_is_cancelled(world: World) -> None:
    bus, heard = await world.bus(), Collected()
    await bus.start(
        listeners=[Listener(exchange=CONTROL, models={"run.cancelled": RunCancelled}, handler=heard.add)]
    )
    await bus.pause()
    sent = RunCancelled(run_ids=(UUID(int=9),))
    await bus.announce(sent)
    assert await heard.first(1) == [sent]
