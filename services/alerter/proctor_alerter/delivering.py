"""Sends what is due, beside everything else: a slow receiver holds up neither others nor looks at runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol, assert_never

from proctor_chassis.clock import Clock
from proctor_chassis.metrics import Meters
from proctor_chassis.outage import Outage
from proctor_contracts.alerts import DeliveryState
from proctor_store.repositories import deliveries
from proctor_store.repositories.deliveries import AttemptRecord, Claimed, DeliveryRecord
from proctor_store.session import Database, StoreUnavailable

from .retrying import Again, Delivered, Failed, Tried, next_step
from .targets import Target

__all__ = ["LEASE", "Deliverer", "Sends"]

LEASE = timedelta(seconds=60)
"""How long a delivery is its sender's; after that another one takes it, with the same id."""

POLL_SECONDS = 1.0
RECORDING_SECONDS = 1.0
log = logging.getLogger(__name__)


class Sends(Protocol):
    """Tries one delivery."""

    def target(self, claimed: Claimed) -> Target | None:
        """Where it goes now."""
        ...

    async def send(self, delivery: DeliveryRecord, to: Target | None) -> Tried:
        """What the receiver did."""
        ...


class Deliverer:
    """Claims due deliveries, at most `sending` at once and `each` to one receiver, and keeps every try.

    Any number of processes may run one; a delivery is claimed by one at a time.
    """

    def __init__(
        self,
        *,
        database: Database,
        sender: Sends,
        clock: Clock,
        rng: random.Random,
        meters: Meters,
        outage: Outage,
        sending: int,
        each: int,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._database = database
        self._sender = sender
        self._clock = clock
        self._rng = rng
        self._meters = meters
        self._outage = outage
        self._sending = sending
        self._each = each
        self._poll = poll_seconds
        self._wake = asyncio.Event()
        self._busy: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Say that something may be due."""
        self._wake.set()

    def start(self) -> None:
        """Begin to send."""
        self._loop = asyncio.create_task(self._run(), name="deliverer")

    async def drain(self, *, seconds: float) -> None:
        """Claim nothing more and let what is on its way arrive, at most this long."""
        await self._cancel_loop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def stop(self) -> None:
        """Stop; what was sent and not recorded is sent again with the same id."""
        await self._cancel_loop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def claim(self) -> int:
        """Take what is due and begin to send it; returns how many deliveries."""
        now = self._clock.now()
        async with self._database.transaction() as unit:
            taken = await deliveries.claim(
                unit,
                now=now,
                until=now + LEASE,
                most=self._sending - len(self._tasks),
                each=self._each,
                busy=self._busy,
            )
            oldest = await deliveries.oldest_pending(unit)
        self._meters.oldest_delivery_seconds.set(0 if oldest is None else (now - oldest).total_seconds())
        for claimed in taken:
            self._busy[claimed.delivery.receiver] += 1
            task = asyncio.create_task(self._deliver(claimed), name=f"delivery-{claimed.delivery.id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(taken)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self.claim()
                self._outage.ended()
            except StoreUnavailable as error:
                self._outage.began(error)
            except Exception:
                log.exception("deliveries.claim_failed")
            # Not wait_for, which may swallow a cancel that comes together with the wake.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll):
                    await self._wake.wait()

    async def _deliver(self, claimed: Claimed) -> None:
        delivery = claimed.delivery
        try:
            at, began = self._clock.now(), self._clock.monotonic()
            to = self._sender.target(claimed)
            tried = await self._sender.send(delivery, to)
            attempt = AttemptRecord(
                delivery_id=delivery.id,
                number=delivery.tries + 1,
                at=at,
                duration_ms=round((self._clock.monotonic() - began) * 1000),
                status=tried.status,
                error=tried.error,
                detail=tried.detail,
            )
            await self._record(delivery, attempt, tried, target=delivery.target if to is None else to.shown)
        except Exception:
            # The claim runs out, and it is tried again.
            log.exception("delivery.failed", extra={"delivery": str(delivery.id)})
        finally:
            self._busy[delivery.receiver] -= 1
            self._busy += Counter()
            self.wake()

    async def _record(
        self, delivery: DeliveryRecord, attempt: AttemptRecord, tried: Tried, *, target: str
    ) -> None:
        now = self._clock.now()
        step = next_step(tried, tries=delivery.tries + 1, now=now, chance=self._rng.random())
        match step:
            case Delivered():
                state, again = DeliveryState.DELIVERED, None
            case Again(at=at):
                state, again = DeliveryState.PENDING, at
            case Failed():
                state, again = DeliveryState.FAILED, None
            case _:
                assert_never(step)
        log.log(
            logging.WARNING if state is DeliveryState.FAILED else logging.INFO,
            "delivery.tried",
            extra=_line(delivery, attempt, state, target=target),
        )
        while True:
            try:
                async with self._database.transaction() as unit:
                    await deliveries.finish(
                        unit,
                        delivery,
                        attempt,
                        state=state.value,
                        target=target,
                        next_attempt_at=again,
                        now=now,
                    )
                break
            except StoreUnavailable:
                # It arrived, or did not: worth remembering for as long as nobody else may send it.
                if delivery.claimed_until is None or self._clock.now() >= delivery.claimed_until:
                    raise
                await self._clock.sleep(RECORDING_SECONDS)
        outcome = "retried" if state is DeliveryState.PENDING else state.value
        self._meters.deliveries.add(outcome=outcome)

    async def _cancel_loop(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._loop
            self._loop = None


def _line(
    delivery: DeliveryRecord, attempt: AttemptRecord, state: DeliveryState, *, target: str
) -> Mapping[str, object]:
    return {
        "delivery": str(delivery.id),
        "alert": str(delivery.alert_id),
        "target": target,
        "try": delivery.tries + 1,
        "state": state.value,
        "status": attempt.status,
        "error": attempt.error,
        "detail": attempt.detail,
        "duration_ms": attempt.duration_ms,
    }
