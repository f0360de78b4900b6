"""Windowed dispatch: how many cases may leave, let out in the transaction that freed the slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import Blame, ResultStatus
from proctor_contracts.results import CaseError
from proctor_llm.prices import Prices
from proctor_store.repositories import pipeline
from proctor_store.session import Unit

from .budget import shares
from .endings import end_result
from .steps import cut_short
from .work import ResultWork, RunWork, case_requested

__all__ = ["DEFAULT_WINDOW", "Dispatcher", "room", "window"]

DEFAULT_WINDOW = 50
UNKNOWN_POOL_WINDOW = 32
BACKLOG_WINDOWS = 4
MOST_LEAD = 200


def window(*, stated: int | None, account_limit: int | None, pool_concurrency: int | None) -> int:
    """Size a run's window: as stated, else what keeps the pool busy; never above the account's limit."""
    if stated is not None:
        size = stated
    else:
        size = max(DEFAULT_WINDOW, 2 * pool_concurrency if pool_concurrency else UNKNOWN_POOL_WINDOW)
    return size if account_limit is None else min(size, account_limit)


def room(*, window: int, in_flight: int, judging: int, allowance: int | None, lead: int = 0) -> int:
    """Count the cases that may leave now: free slots, unless the judges are four windows behind.

    `lead` cases more may leave than are played at once, to wait at hand; what the judges will have to do is
    bounded as without.
    """
    backlog = BACKLOG_WINDOWS * window
    if judging >= backlog:
        return 0
    free = min(window + lead, backlog + window - 1 - judging) - in_flight
    return max(0, free if allowance is None else min(free, allowance))


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Lets cases out of runs under their lock; `pool_concurrency` is what heartbeats say of a pool.

    With `leads`, cases leave early, for a turnstile that holds them. Not where money or places are counted:
    they would hold reserves and places that others could use, or be played when the money is used up.
    """

    prices: Prices
    pool_concurrency: Callable[[str], int | None]
    leads: bool = False

    async def fill(
        self,
        unit: Unit,
        run: RunWork,
        *,
        now: datetime,
        account_limit: int | None,
        allowance: int | None,
        out_of_money: bool,
        counted: bool,
    ) -> int:
        """Fill a run's window; returns how many cases left.

        `allowance` is what the account may still have in flight; `counted` says that it has a balance or a
        limit. Without money the waiting results end in `error`.
        """
        if run.next_ordinal >= run.row.total or not run.live:
            return 0
        if out_of_money:
            await self._out_of_money(unit, run, now=now)
            return 0
        size = window(
            stated=run.settings.concurrency,
            account_limit=account_limit,
            pool_concurrency=self.pool_concurrency(run.settings.pool),
        )
        if size != run.row.window:
            run.put["window"] = size
        free = room(
            window=size,
            in_flight=run.in_flight,
            judging=run.judging,
            allowance=allowance,
            lead=self._lead(run, size) if not counted else 0,
        )
        left = broke = 0
        while left < free:
            waiting = await pipeline.waiting_results(
                unit, run.row.id, from_ordinal=run.next_ordinal, limit=free - left
            )
            if not waiting:
                run.put["next_ordinal"] = run.row.total
                break
            sent, unaffordable, stop = self._send(run, waiting, now=now)
            await pipeline.save_results(unit, sent)
            broke += await self._give_up(unit, run, unaffordable, now=now)
            left += len(sent)
            if stop:
                break
        if broke:
            run.event("run.budget_exhausted", {"cases": broke})
        return left

    def _lead(self, run: RunWork, size: int) -> int:
        """Count the cases that should wait at hand: what is played while a batch is written, and some."""
        return min(3 * size, MOST_LEAD) if self.leads and run.row.budget_micro is None else 0

    def _send(
        self, run: RunWork, waiting: Sequence[pipeline.WaitingRow], *, now: datetime
    ) -> tuple[list[dict[str, Any]], list[pipeline.WaitingRow], bool]:
        """Send results in order while the budget holds.

        Returns the changes of those sent, those that will never fit, and True when the rest must wait for
        settlements.
        """
        sent: list[dict[str, Any]] = []
        unaffordable: list[pipeline.WaitingRow] = []
        for row in waiting:
            case = CaseSnapshot.model_validate(row.snapshot)
            uncommitted = run.uncommitted
            reserve = shares(case, run.settings, self.prices) if uncommitted is not None else None
            if reserve is not None and uncommitted is not None and reserve.total > uncommitted:
                if run.in_flight or run.judging:
                    return sent, unaffordable, True
                unaffordable.append(row)
                run.put["next_ordinal"] = row.ordinal + 1
                continue
            run.put["next_ordinal"] = row.ordinal + 1
            run.add["in_flight"] += 1
            reserved = 0 if reserve is None else reserve.total
            run.add["reserved_micro"] += reserved
            run.send(
                case_requested(
                    run,
                    result_id=row.id,
                    trial=row.trial,
                    attempt=row.attempt + 1,
                    case=case,
                    share=None if reserve is None else reserve.agent,
                )
            )
            sent.append(
                {
                    "id": row.id,
                    "status": ResultStatus.RUNNING.value,
                    "stage": "executing",
                    "attempt": row.attempt + 1,
                    "dispatched_at": now,
                    "reserved_micro": reserved,
                }
            )
        return sent, unaffordable, False

    async def _give_up(
        self, unit: Unit, run: RunWork, rows: Sequence[pipeline.WaitingRow], *, now: datetime
    ) -> int:
        """End what the budget does not cover; returns how many had never been out."""
        error = CaseError(
            code="budget_exhausted",
            message="what is left of the run's budget does not cover this case; raise budgetCents",
            blame=Blame.INFRASTRUCTURE,
        )
        fresh = [row.id for row in rows if row.attempt == 0]
        values = {
            "status": ResultStatus.ERROR.value,
            "stage": "done",
            "error": _written(error),
            "first_status": ResultStatus.ERROR.value,
            "completed_at": now,
        }
        await pipeline.save_results(unit, [{"id": result, **values} for result in fresh])
        if fresh:
            run.ended(ResultStatus.ERROR, len(fresh))
        await self._cut_short(unit, run, [row.id for row in rows if row.attempt], error=error, now=now)
        return len(fresh)

    async def _cut_short(
        self, unit: Unit, run: RunWork, result_ids: Sequence[UUID], *, error: CaseError, now: datetime
    ) -> None:
        """End results that wait for a retry with what their attempts have shown."""
        if not result_ids:
            return
        rows = await pipeline.results_by_id(unit, result_ids)
        works = [
            ResultWork(row, CaseSnapshot.model_validate(row.snapshot))
            for row in sorted(rows.values(), key=lambda row: row.ordinal)
        ]
        for work in works:
            step = cut_short(work.case, work.history, error=error)
            end_result(run, work, step, work.row.history, event="case.executed", now=now)
        await pipeline.save_results(unit, [work.saved() for work in works])

    async def _out_of_money(self, unit: Unit, run: RunWork, *, now: datetime) -> None:
        error = CaseError(
            code="balance_exhausted",
            message="the account's balance is used up; top it up and run the rest again",
            blame=Blame.INFRASTRUCTURE,
        )
        retries = await pipeline.waiting_retries(unit, run.row.id)
        await self._cut_short(unit, run, retries, error=error, now=now)
        ended = await pipeline.end_waiting(unit, run.row.id, error=_written(error), now=now)
        run.put["next_ordinal"] = run.row.total
        if ended:
            run.ended(ResultStatus.ERROR, ended)
            run.event("run.balance_exhausted", {"cases": ended})


def _written(error: CaseError) -> dict[str, Any]:
    return error.model_dump(mode="json", by_alias=True)
