"""The outbox and its relay: at least once, nothing forgotten, nobody held up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from proctor_contracts.ids import new_id
from proctor_store.relay import BATCH, Relay, Undeliverable
from proctor_store.repositories import outbox
from proctor_store.repositories.outbox import Outgoing, Waiting
from proctor_store.session import Database, StoreUnavailable
from proctor_store.tables import OutboxDeadRow, OutboxRow
from tests.store.rows import AT, BOTH, POSTGRESQL_ONLY, opened

PATIENCE = 20.0
NEVER = 3600.0


class Broker:
    """Takes messages unless it is away; some it refuses for good."""

    def __init__(self) -> None:
        self.away = False
        self.refused: set[str] = set()
        self.taken: list[str] = []
        self.relayed: list[str] = []
        self.buried: list[tuple[str, str]] = []
        self.deaf = 0
        self.sending = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.got = asyncio.Condition()

    async def publish(self, message: Waiting) -> None:
        self.sending.set()
        await self.gate.wait()
        if self.away:
            raise ConnectionError("away")
        if message.message_id in self.refused:
            raise Undeliverable("unroutable: no queue")
        async with self.got:
            self.taken.append(message.message_id)
            self.got.notify_all()

    async def undeliverable(self, message: Waiting, reason: str) -> None:
        if self.deaf:
            self.deaf -= 1
            raise StoreUnavailable("away")
        self.buried.append((message.message_id, reason))

    async def note(self, messages: Sequence[Waiting]) -> None:
        self.relayed += [message.message_id for message in messages]


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened(request, tmp_path) as database:
        yield database
        async with database.transaction() as unit:
            for row in await outbox.take(unit, limit=10_000):
                await outbox.remove(unit, [row.row])


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def relay(database: Database, broker: Broker) -> Relay:
    return Relay(
        database=database,
        publish=broker.publish,
        undeliverable=broker.undeliverable,
        relayed=broker.note,
        clock=lambda: AT,
        poll_seconds=NEVER,
    )


async def put(
    database: Database, *names: str, run: UUID | None = None, exchange: str = "proctor.jobs"
) -> None:
    async with database.transaction() as unit:
        await outbox.add(unit, [Outgoing(run, exchange, "key", name, "{}") for name in names], now=AT)


async def left(database: Database) -> list[str]:
    async with database.reading() as unit:
        return list(
            (await unit.connection.execute(select(OutboxRow.message_id).order_by(OutboxRow.id))).scalars()
        )


async def test_what_is_confirmed_leaves_in_order(database: Database, broker: Broker, relay: Relay) -> None:
    await put(database, "a", "b", "c")
    assert await relay.drain() == 3
    assert broker.taken == broker.relayed == ["a", "b", "c"]
    assert await left(database) == []
    assert await relay.drain() == 0


async def test_while_the_broker_is_away_messages_stay(
    database: Database, broker: Broker, relay: Relay
) -> None:
    await put(database, "a")
    broker.away = True
    assert await relay.drain() == 0
    assert await left(database) == ["a"]
    assert broker.relayed == []
    broker.away = False
    assert await relay.drain() == 1


async def test_an_outage_is_reported_once_however_many_messages_wait(
    database: Database, broker: Broker, relay: Relay, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="proctor_store.relay")
    await put(database, "a", "b", "c")
    for _ in range(2):
        broker.away = True
        assert await relay.drain() == 0
        assert await relay.drain() == 0
        broker.away = False
        await relay.drain()
        await put(database, "d")
    told = [(record.message, vars(record)["messages"]) for record in caplog.records]
    assert told == [("outbox_publish_failed", 3), ("outbox_publish_failed", 1)]


async def test_what_can_never_go_is_kept_apart_and_told(
    database: Database, broker: Broker, relay: Relay
) -> None:
    name = str(new_id())
    await put(database, "a", name, "c")
    broker.refused = {name}
    assert await relay.drain() == 3
    assert broker.taken == ["a", "c"]
    assert broker.buried == [(name, "unroutable: no queue")]
    assert await left(database) == []
    async with database.reading() as unit:
        query = select(OutboxDeadRow.reason).where(OutboxDeadRow.message_id == name)
        assert (await unit.connection.execute(query)).scalar_one() == "unroutable: no queue"


async def test_what_could_not_be_told_is_told_next_time(
    database: Database, broker: Broker, relay: Relay
) -> None:
    await put(database, "a", "b")
    broker.refused, broker.deaf = {"a", "b"}, 1
    with pytest.raises(StoreUnavailable):
        await relay.drain()
    assert await relay.drain() == 0
    assert [name for name, _ in broker.buried] == ["a", "b"]


async def test_it_is_woken_and_drains_more_than_one_batch(
    database: Database, broker: Broker, relay: Relay
) -> None:
    relay.start()
    names = [f"{n}" for n in range(BATCH + 5)]
    await put(database, *names)
    relay.wake()
    async with asyncio.timeout(PATIENCE), broker.got:
        await broker.got.wait_for(lambda: len(broker.taken) == len(names))
    await relay.stop()
    assert sorted(broker.taken) == sorted(names)


async def test_dropping_a_runs_jobs_keeps_what_others_must_hear(database: Database) -> None:
    run, other = new_id(), new_id()
    await put(database, "job", run=run)
    await put(database, "fact", run=run, exchange="proctor.events")
    await put(database, "theirs", run=other)
    async with database.transaction() as unit:
        await outbox.drop_run(unit, run)
        assert await outbox.count(unit) == 2
    assert await left(database) == ["fact", "theirs"]


@POSTGRESQL_ONLY
async def test_dropping_does_not_wait_for_a_broker_that_is_slow(
    database: Database, broker: Broker, relay: Relay
) -> None:
    run = new_id()
    await put(database, "a", run=run)
    broker.gate.clear()
    draining = asyncio.create_task(relay.drain())
    await broker.sending.wait()
    async with asyncio.timeout(PATIENCE), database.transaction() as unit:
        await outbox.drop_run(unit, run)
    broker.gate.set()
    assert await draining == 1


async def test_two_relays_share_the_work(database: Database, broker: Broker, relay: Relay) -> None:
    await put(database, *(f"{n}" for n in range(20)))
    counts = await asyncio.gather(relay.drain(), relay.drain())
    assert sum(counts) == 20
    assert sorted(broker.taken, key=int) == [f"{n}" for n in range(20)]


@pytest.mark.parametrize("steps", range(5))
async def test_a_stop_that_comes_right_after_a_wake_is_heard(
    database: Database, broker: Broker, relay: Relay, steps: int
) -> None:
    await put(database, "first")
    relay.start()
    async with asyncio.timeout(PATIENCE), broker.got:
        await broker.got.wait_for(lambda: broker.taken == ["first"])
    for _ in range(500):  # on SQLite it then waits to be woken
        await asyncio.sleep(0)
    relay.wake()
    for _ in range(steps):
        await asyncio.sleep(0)
    stopping = asyncio.create_task(relay.stop())
    done, _ = await asyncio.wait({stopping}, timeout=2)
    stopping.cancel()
    assert done
