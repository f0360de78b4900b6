"""The pipeline put together: collector, relay, sweeper, live hub and what they consume."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from proctor_chassis.bus.port import (
    Bus,
    BusUnavailable,
    DeadLetter,
    DeadSubscription,
    Listener,
    MessageTooLarge,
    Subscription,
    Unroutable,
)
from proctor_chassis.metrics import Meters
from proctor_contracts.messages import (
    CaseExecuted,
    CaseJudged,
    LiveEvent,
    LiveHint,
    RunCancelled,
    WorkerHeartbeat,
)
from proctor_contracts.topology import API_CAPTURES, COLLECTOR_RESULTS, CONTROL, LIVE, work_queues
from proctor_llm.prices import Prices
from proctor_store.relay import Relay, Undeliverable
from proctor_store.repositories import outbox, pipeline
from proctor_store.session import Database

from .batch import Report
from .cancels import Cancels
from .collector import Collector
from .dispatch import Dispatcher
from .hub import Hub
from .settle import Settler
from .sweeper import Sweeper
from .turnstile import Departure, Turnstile
from .workers import Workers

__all__ = ["Pipeline"]

log = logging.getLogger(__name__)

COLLECTOR_CONCURRENCY = 200
BATCHES_APART = 0.01
"""Seconds between transactions where a commit costs so little that every report would get its own."""

FED_BATCHES_APART = 0.05
"""The same while no conversation waits for them."""

REMEMBERED_STARTED = 10_000
_REASON = re.compile(r"[a-z_]{1,40}(:[a-z_]{1,40})?")


class Pipeline:
    """Everything of the API that works beside requests.

    `alone` says that this process owns database and bus by itself: what is outstanding is then sent again by
    `resume`, and lost jobs need no sweeping, since they are lost only with the process. `given_up` says for a
    queue whose messages are no jobs who hears of those that became dead letters.
    """

    def __init__(
        self,
        *,
        database: Database,
        bus: Bus,
        prices: Prices,
        clock: Callable[[], datetime],
        meters: Meters,
        pools: Sequence[str],
        owner: str,
        alone: bool,
        given_up: Mapping[str, Callable[[DeadLetter], Awaitable[None]]] | None = None,
    ) -> None:
        self._database = database
        self._bus = bus
        self._clock = clock
        self._meters = meters
        self._alone = alone
        self._given_up = given_up or {}
        self._queues = tuple(queue.name for queue in work_queues(tuple(pools)))
        self._tasks: set[asyncio.Task[None]] = set()
        self._periodic: list[asyncio.Task[None]] = []
        self._started: set[UUID] = set()
        self._turnstile = Turnstile()
        self.hub = Hub()
        self.workers = Workers(clock=clock, connections=lambda: bus.connections)
        self.cancels = Cancels(database=database, bus=bus, clock=clock)
        self.relay = Relay(
            database=database,
            publish=self._publish,
            undeliverable=self._undeliverable,
            relayed=self._relayed,
            clock=clock,
        )
        self.settler = Settler(
            # Alone, a job is with its runner at once: there is no way to the pool that a window could fill.
            dispatcher=Dispatcher(prices, _unknown if alone else self.workers.concurrency, leads=alone),
            prices=prices,
            clock=clock,
            wake=self.relay.wake,
            hint=self._hint,
            meters=meters,
            direct=self._send_directly if alone else None,
        )
        self.collector = Collector(
            database=database,
            settler=self.settler,
            clock=clock,
            apart=self._apart if alone else float,
            heard=self._heard if alone else None,
        )
        self.sweeper = Sweeper(
            database=database,
            settler=self.settler,
            workers=self.workers,
            depth=bus.depth,
            report=self.collector.report,
            clock=clock,
            owner=owner,
        )

    def subscriptions(self) -> tuple[Subscription | DeadSubscription, ...]:
        """The work queues that the API consumes."""
        return (
            Subscription(
                queue=COLLECTOR_RESULTS,
                models={"case.executed": CaseExecuted, "case.judged": CaseJudged},
                handler=self.collector.report,
                concurrency=COLLECTOR_CONCURRENCY,
            ),
            DeadSubscription(handler=self._dead_letter),
        )

    def listeners(self) -> tuple[Listener, ...]:
        """What this replica hears in passing."""
        return (
            Listener(exchange=CONTROL, models={"worker.heartbeat": WorkerHeartbeat}, handler=self._heartbeat),
            Listener(
                exchange=LIVE, models={"live.hint": LiveHint, "live.event": LiveEvent}, handler=self.hub.heard
            ),
        )

    def start(self) -> None:
        """Begin to write, relay and sweep; consumption is the bus's to start."""
        self.collector.start()
        self.relay.start()
        if not self._alone:
            self._periodic = [
                asyncio.create_task(self.sweeper.run(), name="sweeper"),
                asyncio.create_task(self.cancels.run(), name="cancels"),
            ]

    async def stop(self) -> None:
        """Stop; what was not durable is delivered again."""
        for task in self._periodic:
            task.cancel()
        await asyncio.gather(*self._periodic, return_exceptions=True)
        await self.relay.stop()
        await self.collector.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def announce(self, message: RunCancelled) -> None:
        """Tell workers at once."""
        self._turnstile.forget(message.run_ids)
        await self._bus.announce(message)

    async def observe(self) -> None:
        """Bring the gauges up to date: outbox, oldest case, queues, workers."""
        async with self._database.reading() as unit:
            waiting = await outbox.count(unit)
            oldest = await pipeline.oldest_waiting(unit)
        age = 0.0 if oldest is None else (self._clock() - oldest).total_seconds()
        self._meters.outbox_rows.set(waiting)
        self._meters.oldest_waiting_seconds.set(age)
        for queue in self._queues:
            if (depth := await self._bus.depth(queue)) is not None:
                self._meters.queue_ready.set(depth.ready, queue=queue)
        for (service, pool), count in self.workers.counts().items():
            self._meters.workers.set(count, service=service, pool=pool)

    def _send_directly(self, jobs: Sequence[Departure]) -> None:
        if going := self._turnstile.enter(jobs):
            self._spawn(self._send_all(going))

    def _apart(self) -> float:
        return FED_BATCHES_APART if self._turnstile.fed else BATCHES_APART

    def _heard(self, report: Report) -> None:
        """Let the next case begin before what was said of this one is written down."""
        played = isinstance(report, CaseExecuted)
        if played and (job := self._turnstile.ended(report.run_id, report.id())) is not None:
            self._spawn(self._send_all([job]))

    async def _send_all(self, jobs: Sequence[outbox.Outgoing]) -> None:
        for job in jobs:
            try:
                await self._publish(job)
            except Undeliverable as error:
                await self.collector.undeliverable(job, str(error))
            except BusUnavailable:
                # The process is stopping; its rows say at the next start what is outstanding.
                return

    async def _publish(self, message: outbox.Outgoing) -> None:
        try:
            await self._bus.publish_raw(
                exchange=message.exchange,
                key=message.key,
                body=message.body.encode(),
                message_id=message.message_id,
                correlation=str(message.run_id or message.message_id),
            )
        except (Unroutable, MessageTooLarge) as error:
            raise Undeliverable(f"{error.code}: {error}") from error

    async def _undeliverable(self, message: outbox.Waiting, reason: str) -> None:
        await self.collector.undeliverable(message, reason)

    async def _relayed(self, messages: Sequence[outbox.Waiting]) -> None:
        """Mark the runs whose first job is out as running."""
        new = {
            m.run_id for m in messages if m.run_id is not None and m.key.startswith("case.")
        } - self._started
        if not new:
            return
        async with self._database.transaction() as unit:
            held = await self.settler.lock(unit, new)
            for run_id in new & held.runs.keys():
                held.runs[run_id].started(held.now)
            await self.settler.flush(unit, held)
        if len(self._started) > REMEMBERED_STARTED:
            self._started.clear()
        self._started |= new

    async def _heartbeat(self, beat: WorkerHeartbeat) -> None:
        self.workers.heard(beat)
        if beat.starting:
            await self.cancels.tell(beat.worker_id)

    async def _dead_letter(self, letter: DeadLetter) -> None:
        if letter.queue == API_CAPTURES.name:
            known = _REASON.fullmatch(letter.reason)
            self._meters.captures_refused.add(reason=letter.reason if known else "other")
        if (tell := self._given_up.get(letter.queue)) is not None:
            await tell(letter)
        await self.collector.dead_letter(letter)

    def _hint(self, hints: Sequence[LiveHint]) -> None:
        for hint in hints:
            self.hub.heard(hint)
            if not self._alone:
                self._spawn(self._bus.announce(hint))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _unknown(_pool: str) -> int | None:
    return None
