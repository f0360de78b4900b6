"""Jobs that got lost on the way: told from those that wait their turn, sent again once, then given up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, assert_never

from proctor_chassis.bus.port import Depth
from proctor_contracts.enums import Blame
from proctor_contracts.ids import job_id, judge_job_id
from proctor_contracts.messages import CaseExecuted, CaseJudged
from proctor_contracts.results import AssertionResult, CaseError
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.topology import JUDGE_CASES, runner_queue
from proctor_contracts.transcript import TranscriptEntry
from proctor_store.repositories import claims, outbox, pipeline
from proctor_store.repositories.pipeline import OutRow
from proctor_store.session import Database, StoreUnavailable

from .batch import Report, judge_requested
from .budget import shares
from .settle import Held, Settler
from .work import case_requested
from .workers import Workers

__all__ = ["Sweeper", "Verdict", "judge_loss"]

log = logging.getLogger(__name__)

EVERY_SECONDS = 10.0
LEASE = timedelta(seconds=30)
SHORTEST_TIMEOUT = timedelta(seconds=1)
LIMIT = 500
MOST_OUT = 1_000_000
MAX_LOSSES = 1


class Verdict(StrEnum):
    """What to do about a job that has been out for long."""

    WAIT = "wait"
    SEND_AGAIN = "send_again"
    GIVE_UP = "give_up"


def judge_loss(
    *, out_for: timedelta, timeout: timedelta, held: bool, depth: Depth | None, losses: int
) -> Verdict:
    """Tell waiting in a queue from a dead worker.

    A job is lost only when it has been out for longer than its case may take, no living worker holds it, and
    its queue has nothing left that it could be: what is still ready there may be this very job.
    """
    if out_for <= timeout or held or depth is None or depth.ready > 0:
        return Verdict.WAIT
    return Verdict.SEND_AGAIN if losses < MAX_LOSSES else Verdict.GIVE_UP


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Looks for lost jobs; one replica at a time, as the claim in the database says."""

    database: Database
    settler: Settler
    workers: Workers
    depth: Callable[[str], Awaitable[Depth | None]]
    report: Callable[[Report], Awaitable[None]]
    clock: Callable[[], datetime]
    owner: str

    async def run(self, *, every_seconds: float = EVERY_SECONDS) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(every_seconds)
            try:
                await self.sweep()
            except StoreUnavailable as error:
                log.info("sweep_postponed", extra={"reason": str(error)})
                # Reports that could not be written meanwhile come back before their jobs count as lost.
                self.workers.listen_anew()
            except Exception:
                log.exception("sweep_failed")

    async def sweep(self) -> int:
        """Look once; returns how many jobs were sent again or given up."""
        if not self.workers.listened_long_enough():
            return 0
        now = self.clock()
        async with self.database.transaction() as unit:
            if not await claims.claim(unit, "sweeper", owner=self.owner, now=now, lease=LEASE):
                return 0
            out = await pipeline.out_before(unit, now - SHORTEST_TIMEOUT, limit=LIMIT)
            stored = await pipeline.settings_of(unit, {row.run_id for row in out})
        settings = {run: RunSettings.model_validate(each) for run, each in stored.items()}
        held = self.workers.held()
        depths: dict[str, Depth | None] = {}
        acted = 0
        for row in out:
            if row.run_id not in settings:
                continue
            timeout = timedelta(milliseconds=settings[row.run_id].case_timeout_ms)
            queue = JUDGE_CASES if row.stage == "judging" else runner_queue(settings[row.run_id].pool)
            if queue.name not in depths:
                # Once for a queue, so that what one worker took down with it is sent again together.
                depths[queue.name] = await self.depth(queue.name)
            verdict = judge_loss(
                out_for=now - (row.dispatched_at or now),
                timeout=timeout,
                held=_name(row) in held,
                depth=depths[queue.name],
                losses=row.losses,
            )
            acted += await self._act(row, verdict, now=now)
        return acted

    async def resume(self) -> int:
        """Send everything that is out again and fill every window.

        For a process that owns its database and bus alone and just started.
        """
        async with self.database.transaction() as unit:
            out = await pipeline.out_before(unit, self.clock() + LEASE, limit=MOST_OUT)
            held = await self.settler.lock(unit, await pipeline.live_runs(unit))
            await self.settler.load(unit, held, [row.id for row in out])
            judging = [(row.id, row.attempt) for row in out if row.stage == "judging"]
            payloads = await pipeline.executed_payloads(unit, judging)
            for row in out:
                self._send(held, row, payloads.get((row.id, row.attempt)))
            await self.settler.flush(unit, held)
        return len(out)

    async def _act(self, row: OutRow, verdict: Verdict, *, now: datetime) -> int:
        match verdict:
            case Verdict.WAIT:
                return 0
            case Verdict.SEND_AGAIN:
                return await self._send_again(row)
            case Verdict.GIVE_UP:
                await self.report(_given_up(row, now=now))
                return 1
            case _:
                assert_never(verdict)

    async def _send_again(self, row: OutRow) -> int:
        async with self.database.transaction() as unit:
            held = await self.settler.lock(unit, [row.run_id])
            run = held.runs.get(row.run_id)
            if run is None or not run.live:
                return 0
            await self.settler.load(unit, held, [row.id])
            result = held.results.get(row.id)
            if (
                result is None
                or not result.expects(row.attempt, row.stage)
                or result.row.losses != row.losses
            ):
                # Its report came in the meantime.
                return 0
            if await outbox.holds(unit, row.run_id, _name(row)):
                # It never left: the broker was away, and what waits for it is not lost.
                return 0
            log.warning("job_lost", extra={"job": _name(row)})
            result.change |= {"losses": row.losses + 1, "dispatched_at": held.now}
            payloads = await pipeline.executed_payloads(unit, [(row.id, row.attempt)])
            self._send(held, row, payloads.get((row.id, row.attempt)))
            await self.settler.flush(unit, held)
        return 1

    def _send(self, held: Held, row: OutRow, payload: Mapping[str, Any] | None) -> None:
        run, result = held.runs[row.run_id], held.results[row.id]
        reserve = (
            shares(result.case, run.settings, self.settler.prices) if result.now("reserved_micro") else None
        )
        if row.stage == "executing":
            run.send(
                case_requested(
                    run,
                    result_id=row.id,
                    trial=row.trial,
                    attempt=row.attempt,
                    case=result.case,
                    share=None if reserve is None else reserve.agent,
                )
            )
            return
        executed = payload or {}
        run.send(
            judge_requested(
                run,
                result,
                results=[AssertionResult.model_validate(r) for r in executed.get("assertionResults", ())],
                transcript=tuple(TranscriptEntry.model_validate(e) for e in executed.get("transcript", ())),
                share=None if reserve is None else reserve.judge,
            )
        )


def _name(row: OutRow) -> str:
    named = judge_job_id if row.stage == "judging" else job_id
    return named(row.run_id, row.case_id, row.trial, row.attempt)


def _given_up(row: OutRow, *, now: datetime) -> Report:
    message = (
        "the worker that had this case was lost twice; "
        "look at the workers' logs, then run the errored cases again"
    )
    if row.stage == "judging":
        return CaseJudged(
            run_id=row.run_id,
            result_id=row.id,
            case_id=row.case_id,
            trial=row.trial,
            attempt=row.attempt,
            finished_at=now,
            logs=(message,),
        )
    return CaseExecuted(
        run_id=row.run_id,
        result_id=row.id,
        case_id=row.case_id,
        trial=row.trial,
        attempt=row.attempt,
        error=CaseError(code="worker_lost", message=message, blame=Blame.INFRASTRUCTURE),
        started_at=now,
        finished_at=now,
    )
