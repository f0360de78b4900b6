"""The collector: takes workers' reports in batches and ends what nobody could finish."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from proctor_api.outage import again_when_away
from proctor_chassis.bus.port import DeadLetter, Meta, RetryLater
from proctor_store.repositories.outbox import Outgoing
from proctor_store.session import Database, StoreUnavailable

from .batch import Report
from .batcher import Batcher, Stopped
from .lost import Loss, dead_letter_loss, report_of_loss, undeliverable_loss
from .settle import Settler

__all__ = ["Collector"]

log = logging.getLogger(__name__)


class Collector:
    """The one writer of results; reports that arrive together share a transaction.

    Transactions begin at least `apart()` seconds after the last one's end; `heard` is told of each report.
    """

    def __init__(
        self,
        *,
        database: Database,
        settler: Settler,
        clock: Callable[[], datetime],
        apart: Callable[[], float] = float,
        heard: Callable[[Report], None] | None = None,
    ) -> None:
        self._heard = heard
        self._database = database
        self._settler = settler
        self._clock = clock
        self._batcher: Batcher[Report] = Batcher(self._write, shared=(StoreUnavailable,), apart=apart)

    def start(self) -> None:
        """Begin to write."""
        self._batcher.start()

    async def stop(self) -> None:
        """Stop writing; what was not durable is delivered again."""
        await self._batcher.stop()

    async def report(self, report: Report, _meta: Meta | None = None) -> None:
        """Take a report; returns once it is durable, `heard` is told at once.

        Raises:
            RetryLater: when the database is away or this process stops, which is never the report's fault.
        """
        if self._heard is not None:
            self._heard(report)
        try:
            with again_when_away():
                await self._batcher.add(report)
        except Stopped as error:
            raise RetryLater("this process is stopping") from error

    async def dead_letter(self, letter: DeadLetter) -> None:
        """End the case of a job or report that was given up, so that its run still completes."""
        log.error(
            "dead_letter", extra={"queue": letter.queue, "reason": letter.reason, "message_id": letter.id}
        )
        if (loss := dead_letter_loss(letter)) is not None:
            await self._lost(loss)

    async def undeliverable(self, message: Outgoing, reason: str) -> None:
        """End the case of a job that the broker will never take."""
        log.error(
            "undeliverable", extra={"key": message.key, "message_id": message.message_id, "reason": reason}
        )
        if (loss := undeliverable_loss(message, reason)) is not None:
            await self._lost(loss)

    async def _lost(self, loss: Loss) -> None:
        with again_when_away():
            async with self._database.reading() as unit:
                report = await report_of_loss(unit, loss, now=self._clock())
        if report is not None:
            await self.report(report)

    async def _write(self, batch: Sequence[Report]) -> None:
        async with self._database.transaction() as unit:
            held = await self._settler.lock(unit, {report.run_id for report in batch})
            await self._settler.apply(unit, held, batch)
            await self._settler.flush(unit, held)
