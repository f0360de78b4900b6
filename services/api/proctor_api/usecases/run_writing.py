"""Writing a run: admit it, take its cases as they are now in parcels, let the first window out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, not_found, payment_required, too_many
from proctor_api.pipeline.budget import unknown_prices
from proctor_api.pipeline.dispatch import DEFAULT_WINDOW
from proctor_api.pipeline.settle import Settler
from proctor_api.pipeline.trials import trials
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import RunMode, RunStatus, Trigger
from proctor_contracts.ids import new_id
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_contracts.schemas.runs import RunCreate
from proctor_llm.prices import Prices
from proctor_store.conflicts import Vanished, conflicts
from proctor_store.repositories import cases, pipeline, runs, ticks
from proctor_store.session import Unit

from .run_plan import case_rows, quota_wait, result_rows
from .run_tools import blind_warning, is_blind

__all__ = ["Draft", "ReadSnapshots", "RunWriter", "chosen_ids", "results_of"]

PARCEL = 500
"""Cases held in memory at once: a run of ten thousand must not cost ten thousand cases of memory."""

MOST_RESULTS = 200_000
"""Results of one run: cases times repeats times weathers."""

_STALE_TICK = timedelta(hours=1)
"""Age at which a tick that became no run holds no place any more; its message must be lost."""

ReadSnapshots = Callable[[Sequence[UUID]], Awaitable[Sequence[tuple[CaseSnapshot, str]]]]
"""Reads some cases of a run, in their order, each with its search text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A run about to be written: what it was asked for, which cases, and how to read them."""

    settings: RunSettings
    case_ids: Sequence[UUID]
    read: ReadSnapshots
    trigger: Trigger
    tags: tuple[str, ...]
    warnings: Sequence[Warning_]
    budget_micro: int | None
    prompt_overridden: bool = False
    agent_id: UUID | None = None
    prompt_version_id: UUID | None = None
    compare_run_id: UUID | None = None
    rerun_of: UUID | None = None
    schedule_id: UUID | None = None
    confirms_run_id: UUID | None = None
    idempotency: tuple[str, str] | None = None

    async def parcels(self) -> AsyncIterator[Sequence[tuple[CaseSnapshot, str]]]:
        """Read the cases, some at a time."""
        for start in range(0, len(self.case_ids), PARCEL):
            yield await self.read(self.case_ids[start : start + PARCEL])


class RunWriter:
    """Writes runs in the caller's transaction."""

    def __init__(self, *, settler: Settler, clock: Callable[[], datetime], prices: Prices) -> None:
        self._settler = settler
        self._clock = clock
        self._prices = prices

    async def admit(
        self, unit: Unit, account: pipeline.AccountRow, *, count: int = 1, reserved: bool = False
    ) -> None:
        """Let an account start a run, or so many at once.

        The scheduler fires a tick only when the minute has a place for its run: that run comes `reserved`,
        and no other may take the place meanwhile.

        Raises:
            ApiError: 402 without money, 429 beyond its quota.
        """
        if account.balance_micro is not None and account.balance_micro <= 0:
            raise payment_required("the account's balance is used up; top it up to start runs")
        if account.runs_per_minute is not None:
            now = self._clock()
            recent = await runs.started_since(unit, account.id, now - timedelta(minutes=1))
            if not reserved:
                recent += [now] * await ticks.unstarted(unit, account.id, since=now - _STALE_TICK)
            # More at once than a minute allows need a minute of their own.
            free = max(account.runs_per_minute - count + 1, min(1, account.runs_per_minute))
            if (wait := quota_wait(recent, free, now)) is not None:
                raise too_many(
                    f"the account may start {account.runs_per_minute} runs a minute; try again in {wait} s",
                    retry_after=wait,
                )

    async def write(self, unit: Unit, caller: Caller, draft: Draft) -> UUID:
        """Write the run with its cases and waiting results, and let its first window out.

        Raises:
            ApiError: 400 when its budget cannot be enforced or it would have too many results, 404 when its
                integration is gone.
        """
        total = results_of(draft)
        count = len(draft.case_ids)
        warnings = [*draft.warnings, *await self._budget_warnings(draft)]
        row = self._row(caller, draft, total=total, warnings=warnings)
        # Ids grow with the order of the results, which pages of results rely on.
        ids = [new_id() for _ in range(total)]
        try:
            with conflicts({}):
                await runs.insert_run(unit, row)
        except Vanished as error:
            raise not_found("integration") from error
        place = blind = 0
        async for parcel in draft.parcels():
            snapshots = [case for case, _ in parcel]
            blind += sum(is_blind(case, draft.settings) for case in snapshots)
            await runs.insert_cases(
                unit,
                case_rows(row["id"], parcel),
                result_rows(
                    row["id"],
                    caller.account_id,
                    snapshots,
                    ids=ids,
                    place=place,
                    count=count,
                    settings=draft.settings,
                ),
            )
            place += len(parcel)
        if blind:
            await runs.set_warnings(unit, row["id"], [*row["warnings"], _written(blind_warning(blind))])
        held = await self._settler.lock(unit, [row["id"]])
        await self._settler.flush(unit, held)
        run_id: UUID = row["id"]
        return run_id

    def _row(
        self, caller: Caller, draft: Draft, *, total: int, warnings: Sequence[Warning_]
    ) -> dict[str, Any]:
        settings = draft.settings
        key, digest = draft.idempotency or (None, None)
        return {
            "id": new_id(),
            "account_id": caller.account_id,
            "integration_id": settings.agent.integration_id,
            "status": RunStatus.PENDING.value,
            "trigger": draft.trigger.value,
            "mode": RunMode.CASE.value,
            "provider": settings.agent.provider.value,
            "model": settings.agent.model,
            "agent_prompt_snapshot": settings.agent.prompt,
            "prompt_overridden": draft.prompt_overridden,
            "settings": settings.model_dump(mode="json", by_alias=True),
            "tags": list(draft.tags),
            "warnings": list(map(_written, warnings)),
            "window": settings.concurrency or DEFAULT_WINDOW,
            "total": total,
            "remaining": total,
            "budget_micro": draft.budget_micro,
            "agent_models": [],
            "judge_models": [],
            "agent_id": draft.agent_id,
            "prompt_version_id": draft.prompt_version_id,
            "compare_run_id": draft.compare_run_id,
            "rerun_of": draft.rerun_of,
            "schedule_id": draft.schedule_id,
            "confirms_run_id": draft.confirms_run_id,
            "idempotency_key": key,
            "idempotency_hash": digest,
            "created_at": self._clock(),
        }

    async def _budget_warnings(self, draft: Draft) -> Sequence[Warning_]:
        if draft.budget_micro is None:
            return []
        judged = False
        async for parcel in draft.parcels():
            judged = judged or any(a.kind == "judge" for case, _ in parcel for a in case.assertions)
        unknown = unknown_prices(draft.settings, self._prices, judged=judged)
        if not unknown:
            return []
        message = f"the price of {', '.join(unknown)} is unknown, so the budget cannot be enforced"
        if draft.settings.budget_mode == "best_effort":
            return [Warning_(path="budgetCents", message=message, code="budget_not_enforced")]
        cure = f"{message}; add the price to the price table, or say budgetMode: best_effort"
        problem = FieldProblem(path="budgetMode", message=cure, code="price_unknown")
        raise bad_request([problem], code="price_unknown")


def _written(warning: Warning_) -> dict[str, Any]:
    """Write a warning as a run keeps it."""
    return warning.model_dump(by_alias=True)


def results_of(draft: Draft) -> int:
    """Count the results that a run will have.

    Raises:
        ApiError: 400 when they are too many.
    """
    total = len(draft.case_ids) * trials(draft.settings)
    if total <= MOST_RESULTS:
        return total
    problem = FieldProblem(
        path="weather" if draft.settings.weather else "repeats",
        message=f"cases, repeats and weathers make {total:,} results; a run has at most {MOST_RESULTS:,}",
        code="too_many_results",
    )
    raise bad_request([problem], code="too_many_results")


async def chosen_ids(unit: Unit, caller: Caller, body: RunCreate) -> Sequence[UUID]:
    """Find the cases that a run names or that its filter takes, in order.

    Raises:
        ApiError: 404 naming the ids that do not exist, 400 when nothing would be tested.
    """
    if body.case_ids:
        wanted = list(dict.fromkeys(body.case_ids))
        there = await cases.existing(unit, caller.account_id, body.integration_id, wanted)
        missing = [place for place, case in enumerate(body.case_ids) if case not in there]
        if missing:
            detail = f"{len(missing)} of the cases do not exist in this integration"
            named = [FieldProblem(path=f"caseIds.{place}", message="no such case") for place in missing[:100]]
            raise ApiError(404, "not_found", detail, named)
        return wanted
    which = body.case_filter
    query = cases.CaseQuery(
        integration_id=body.integration_id,
        category=None if which is None else which.category,
        priority=None if which is None or which.priority is None else which.priority.value,
        is_active=True,
        tags=() if which is None else which.tags or (),
        refs=None if which is None else which.refs,
    )
    matched = await cases.matching(unit, caller.account_id, query)
    if not matched:
        message = "no active case matches, so nothing would be tested"
        raise bad_request([FieldProblem(path="caseFilter", message=message)], code="no_cases")
    return matched
