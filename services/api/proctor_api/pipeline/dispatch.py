"""Windowed dispatch: how many cases may leave, and letting them out in the transaction that freed the slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import Blame, ResultStatus
from proctor_contracts.results import CaseError
from proctor_llm.prices import Prices
from proctor_store.repositories import pipeline
from proctor_store.session import Unit

from .budget import shares
from .work import RunWork, case_requested

__all__ = ["DEFAULT_WINDOW", "Dispatcher", "room", "window"]

DEFAULT_WINDOW = 50
UNKNOWN_POOL_WINDOW = 32
BACKLOG_WINDOWS = 4


def window(*, stated: int | None, account_limit: int | None, pool_concurrency: int | None) -> int:
    """Size a run's window: as stated, else what keeps the pool busy; never above the account's limit."""
    if stated is not None:
        size = stated
    else:
        size = max(DEFAULT_WINDOW, 2 * pool_concurrency if pool_concurrency else UNKNOWN_POOL_WINDOW)
    return size if account_limit is None else min(size, account_limit)


def room(*, window: int, in_flight: int, judging: int, allowance: int | None) -> int:
    """Count the cases that may leave now: free slots, unless the judges are four windows behind."""
    if judging >= BACKLOG_WINDOWS * window:
        return 0
    free = window - in_flight
    return max(0, free if allowance is None else min(free, allowance))


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Lets cases out of runs under their lock; `pool_concurrency` is what heartbeats say of a pool."""

    prices: Prices
    pool_concurrency: Callable[[str], int | None]

    async def fill(
        self,
        unit: Unit,
        run: RunWork,
        *,
        now: datetime,
        account_limit: int | None,
        allowance: int | None,
        out_of_money: bool,
    ) -> int:
        """Fill a run's window; returns how many cases left.

        `allowance` is what the account may still have in flight. Without money the waiting results end in
        `error`.
        """
        if run.next_ordinal >= run.row.total or not run.live:
            return 0
        if out_of_money:
            await self._end_waiting(
                unit,
                run,
                now=now,
                code="balance_exhausted",
                message="the account's balance is used up; top it up and run the rest again",
            )
            return 0
        size = window(
            stated=run.settings.concurrency,
            account_limit=account_limit,
            pool_concurrency=self.pool_concurrency(run.settings.pool),
        )
        if size != run.row.window:
            run.put["window"] = size
        free = room(window=size, in_flight=run.in_flight, judging=run.judging, allowance=allowance)
        left = 0
        while free > 0:
            waiting = await pipeline.waiting_results(
                unit, run.row.id, from_ordinal=run.next_ordinal, limit=free
            )
            if not waiting:
                run.put["next_ordinal"] = run.row.total
                break
            sent, stop = await self._send(unit, run, waiting, now=now)
            left += sent
            free -= sent
            if stop:
                break
        return left

    async def _send(self, unit: Unit, run: RunWork, waiting: Any, *, now: datetime) -> tuple[int, bool]:
        """Send results in order while the budget holds; True when the rest must wait for settlements."""
        changes: list[dict[str, Any]] = []
        broke: list[Any] = []
        stop = False
        for row in waiting:
            case = CaseSnapshot.model_validate(row.snapshot)
            reserve = shares(case, run.settings, self.prices) if run.uncommitted is not None else None
            if reserve is not None and reserve.total > (run.uncommitted or 0):
                if run.in_flight or run.judging:
                    stop = True
                    break
                broke.append(row)
                run.put["next_ordinal"] = row.ordinal + 1
                continue
            run.put["next_ordinal"] = row.ordinal + 1
            run.add["in_flight"] += 1
            if reserve is not None:
                run.add["reserved_micro"] += reserve.total
            run.send(
                case_requested(
                    run,
                    result_id=row.id,
                    trial=row.trial,
                    attempt=1,
                    case=case,
                    share=None if reserve is None else reserve.agent,
                )
            )
            changes.append(
                {
                    "id": row.id,
                    "status": ResultStatus.RUNNING.value,
                    "stage": "executing",
                    "attempt": 1,
                    "dispatched_at": now,
                    "reserved_micro": 0 if reserve is None else reserve.total,
                }
            )
        await pipeline.save_results(unit, changes)
        if broke:
            error = _error(
                "budget_exhausted",
                "what is left of the run's budget does not cover this case; raise budgetCents",
            )
            await pipeline.save_results(
                unit,
                [
                    {
                        "id": row.id,
                        "status": "error",
                        "stage": "done",
                        "error": error,
                        "first_status": "error",
                        "completed_at": now,
                    }
                    for row in broke
                ],
            )
            run.ended(ResultStatus.ERROR, len(broke))
            run.event("run.budget_exhausted", {"cases": len(broke)})
        return len(changes), stop

    async def _end_waiting(self, unit: Unit, run: RunWork, *, now: datetime, code: str, message: str) -> None:
        ended = await pipeline.end_waiting(unit, run.row.id, error=_error(code, message), now=now)
        run.put["next_ordinal"] = run.row.total
        if ended:
            run.ended(ResultStatus.ERROR, ended)
            run.event(f"run.{code}", {"cases": ended})


def _error(code: str, message: str) -> dict[str, Any]:
    return CaseError(code=code, message=message, blame=Blame.INFRASTRUCTURE).model_dump(
        mode="json", by_alias=True
    )
