"""Runs: start, read, list, cancel, play again, delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, not_found, payment_required, too_many
from proctor_api.pipeline.budget import unknown_prices
from proctor_api.pipeline.dispatch import DEFAULT_WINDOW
from proctor_api.pipeline.settle import Settler
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import ResultStatus, RunMode, RunStatus, Trigger
from proctor_contracts.ids import new_id
from proctor_contracts.messages import RunCancelled
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta, Warning_
from proctor_contracts.schemas.runs import Rerun, RunCreate, RunView
from proctor_llm.prices import Prices
from proctor_store.conflicts import Vanished, conflicts
from proctor_store.paging import Page, write_cursor
from proctor_store.repositories import cases, integrations, outbox, pipeline, runs
from proctor_store.session import Database, Unit

from .run_plan import (
    body_digest,
    case_snapshot,
    new_results,
    not_available,
    quota_wait,
    run_settings,
    selection_problems,
)
from .run_view import MICRO_PER_CENT, run_view

__all__ = ["Runs"]

RERUN_STATUSES: dict[str, tuple[ResultStatus, ...] | None] = {
    "all": None,
    "failed": (ResultStatus.FAILED,),
    "errored": (ResultStatus.ERROR,),
    "unfinished": (ResultStatus.CANCELLED, ResultStatus.PENDING, ResultStatus.RUNNING),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A run about to be written: what it was asked for and the cases as they are now."""

    settings: RunSettings
    snapshots: Sequence[tuple[CaseSnapshot, str]]
    trigger: Trigger
    tags: tuple[str, ...]
    warnings: Sequence[Warning_]
    budget_micro: int | None
    prompt_overridden: bool = False
    rerun_of: UUID | None = None
    idempotency: tuple[str, str] | None = None


class Runs:
    """The life of runs as their users steer it.

    `announce` tells workers at once that a run was cancelled; `judge` is the one from the settings, for runs
    that name none; `pools` are those that have a queue.
    """

    def __init__(
        self,
        *,
        database: Database,
        settler: Settler,
        announce: Callable[[RunCancelled], Awaitable[None]],
        clock: Callable[[], datetime],
        prices: Prices,
        judge: JudgeSettings | None,
        pools: Sequence[str],
    ) -> None:
        self._database = database
        self._settler = settler
        self._announce = announce
        self._clock = clock
        self._prices = prices
        self._judge = judge
        self._pools = tuple(pools)

    async def start(
        self, caller: Caller, body: RunCreate, *, idempotency_key: str | None = None
    ) -> tuple[RunView, bool]:
        """Start a run; the flag says whether it is new or the one that this idempotency key started before.

        Raises:
            ApiError: 400 naming the fields, 402 without money, 404 for unknown rows, 409 for a key used with
                another body, 429 beyond the account's quota.
        """
        if problems := [*not_available(body), *selection_problems(body), *self._pool_problems(body.pool)]:
            raise bad_request(problems, code=problems[0].code or "invalid")
        digest = body_digest(body)
        async with self._database.transaction() as unit:
            account = (await pipeline.lock_accounts(unit, [caller.account_id]))[caller.account_id]
            if idempotency_key is not None and (
                found := await runs.by_idempotency_key(unit, caller.account_id, idempotency_key)
            ):
                if found["idempotency_hash"] != digest:
                    raise conflict(
                        "this Idempotency-Key started another run; use a new key for a new run",
                        field="Idempotency-Key",
                        code="idempotency_key_reused",
                    )
                return await self._view(unit, caller, found["id"]), False
            await self._admit(unit, account)
            integration = await integrations.get(unit, caller.account_id, body.integration_id)
            if integration is None:
                raise not_found("integration")
            settings, warnings = run_settings(body, integration, judge=self._judge)
            chosen = await self._chosen(unit, caller, body)
            snapshots = [
                (case_snapshot(case, score_threshold=body.score_threshold), case.search_text)
                for case in chosen
            ]
            budget = None if body.budget_cents is None else round(body.budget_cents * MICRO_PER_CENT)
            draft = Draft(
                settings=settings,
                snapshots=snapshots,
                trigger=body.trigger,
                tags=body.tags,
                warnings=[*warnings, *self._budget_warnings(budget, settings, snapshots)],
                budget_micro=budget,
                prompt_overridden=body.agent_prompt_override is not None,
                idempotency=None if idempotency_key is None else (idempotency_key, digest),
            )
            run_id = await self._write(unit, caller, draft)
            return await self._view(unit, caller, run_id), True

    async def get(self, caller: Caller, run_id: UUID) -> RunView:
        """Read a run with its live counters and its cases' ids.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            return await self._view(unit, caller, run_id)

    async def list(
        self,
        caller: Caller,
        *,
        page: Page,
        integration_id: UUID | None = None,
        status: RunStatus | None = None,
        trigger: Trigger | None = None,
        compare_run_id: UUID | None = None,
        tag: str | None = None,
    ) -> Listing[RunView]:
        """List runs, newest first."""
        async with self._database.reading() as unit:
            rows, total = await runs.listing(
                unit,
                caller.account_id,
                integration_id=integration_id,
                status=None if status is None else status.value,
                trigger=None if trigger is None else trigger.value,
                compare_run_id=compare_run_id,
                tag=tag,
                before=page.cursor,
                skip=page.skip,
                take=page.take + 1,
            )
        now = self._clock()
        views = tuple(run_view(row, now=now) for row in rows[: page.take])
        cursor = write_cursor(views[-1].id) if len(rows) > page.take else None
        return Listing(data=views, meta=Meta(total=total, take=page.take, skip=page.skip, next_cursor=cursor))

    async def cancel(self, caller: Caller, run_id: UUID) -> RunView:
        """Cancel a run at once: finished cases keep their results, a run that is over stays as it is.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            if await runs.find(unit, caller.account_id, run_id) is None:
                raise not_found("run")
            held = await self._settler.lock(unit, [run_id])
            run = held.runs.get(run_id)
            cancelled = run is not None and run.live
            if run is not None and run.live:
                run.cancel(await runs.cancel_open_results(unit, run_id, now=held.now))
                await outbox.drop_run(unit, run_id)
                await self._settler.flush(unit, held)
            view = await self._view(unit, caller, run_id)
        if cancelled:
            await self._announce(RunCancelled(run_ids=(run_id,)))
        return view

    async def unfinished(self, caller: Caller) -> Sequence[UUID]:
        """List the account's runs that are not over, oldest first."""
        async with self._database.reading() as unit:
            return await runs.live_runs(unit, caller.account_id)

    async def rerun(self, caller: Caller, run_id: UUID, body: Rerun) -> RunView:
        """Play cases of an old run again as a new run, from the old run's snapshots.

        Raises:
            ApiError: 400 when there is nothing to play, 402, 404, 409 while the old run goes on, 429.
        """
        async with self._database.transaction() as unit:
            account = (await pipeline.lock_accounts(unit, [caller.account_id]))[caller.account_id]
            old = await runs.find(unit, caller.account_id, run_id)
            if old is None:
                raise not_found("run")
            if not RunStatus(old["status"]).final:
                raise conflict(
                    "the run is still going; wait for it or cancel it first",
                    field="id",
                    code="run_in_progress",
                )
            await self._admit(unit, account)
            statuses = RERUN_STATUSES[body.which]
            found = await runs.snapshots(unit, run_id, statuses=statuses)
            if not found:
                raise bad_request(
                    [
                        FieldProblem(
                            path="which",
                            message=f"the run has no {body.which} results",
                            code="nothing_to_rerun",
                        )
                    ],
                    code="nothing_to_rerun",
                )
            settings = RunSettings.model_validate(old["settings"])
            snapshots = [(CaseSnapshot.model_validate(snapshot), search) for snapshot, search in found]
            draft = Draft(
                settings=settings,
                snapshots=snapshots,
                trigger=Trigger(old["trigger"]),
                tags=tuple(old["tags"]),
                warnings=self._budget_warnings(old["budget_micro"], settings, snapshots),
                budget_micro=old["budget_micro"],
                prompt_overridden=old["prompt_overridden"],
                rerun_of=run_id,
            )
            new = await self._write(unit, caller, draft)
            return await self._view(unit, caller, new)

    async def delete(self, caller: Caller, run_id: UUID) -> None:
        """Delete a run with its results, transcripts and events.

        Raises:
            ApiError: 404, 409 while the run goes on.
        """
        async with self._database.transaction() as unit:
            row = await runs.find(unit, caller.account_id, run_id)
            if row is None:
                raise not_found("run")
            if not RunStatus(row["status"]).final:
                raise conflict("the run is still going; cancel it first", field="id", code="run_in_progress")
            await runs.delete_run(unit, caller.account_id, run_id)

    async def _admit(self, unit: Unit, account: pipeline.AccountRow) -> None:
        if account.balance_micro is not None and account.balance_micro <= 0:
            raise payment_required("the account's balance is used up; top it up to start runs")
        if account.runs_per_minute is not None:
            now = self._clock()
            recent = await runs.started_since(unit, account.id, now - timedelta(minutes=1))
            if (wait := quota_wait(recent, account.runs_per_minute, now)) is not None:
                raise too_many(
                    f"the account may start {account.runs_per_minute} runs a minute; try again in {wait} s",
                    retry_after=wait,
                )

    async def _chosen(self, unit: Unit, caller: Caller, body: RunCreate) -> Sequence[cases.CaseRecord]:
        if body.case_ids:
            wanted = list(dict.fromkeys(body.case_ids))
            found = await cases.by_ids(unit, caller.account_id, body.integration_id, wanted)
            missing = [place for place, case in enumerate(body.case_ids) if case not in found]
            if missing:
                raise ApiError(
                    404,
                    "not_found",
                    f"{len(missing)} of the cases do not exist in this integration",
                    [
                        FieldProblem(path=f"caseIds.{place}", message="no such case")
                        for place in missing[:100]
                    ],
                )
            return [found[case] for case in wanted]
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
            raise bad_request(
                [
                    FieldProblem(
                        path="caseFilter", message="no active case matches, so nothing would be tested"
                    )
                ],
                code="no_cases",
            )
        return matched

    async def _write(self, unit: Unit, caller: Caller, draft: Draft) -> UUID:
        """Write the run and let its first window out, in the caller's transaction."""
        run_id = new_id()
        settings = draft.settings
        case_rows, results = new_results(run_id, caller.account_id, draft.snapshots, settings.repeats)
        row: dict[str, Any] = {
            "id": run_id,
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
            "warnings": [warning.model_dump(by_alias=True) for warning in draft.warnings],
            "window": settings.concurrency or DEFAULT_WINDOW,
            "total": len(results),
            "remaining": len(results),
            "budget_micro": draft.budget_micro,
            "agent_models": [],
            "judge_models": [],
            "rerun_of": draft.rerun_of,
            "idempotency_key": None if draft.idempotency is None else draft.idempotency[0],
            "idempotency_hash": None if draft.idempotency is None else draft.idempotency[1],
            "created_at": self._clock(),
        }
        try:
            with conflicts({}):
                await runs.insert_run(unit, row, case_rows, results)
        except Vanished as error:
            raise not_found("integration") from error
        held = await self._settler.lock(unit, [run_id])
        await self._settler.flush(unit, held)
        return run_id

    async def _view(self, unit: Unit, caller: Caller, run_id: UUID) -> RunView:
        row = await runs.find(unit, caller.account_id, run_id)
        if row is None:
            raise not_found("run")
        return run_view(row, now=self._clock(), case_ids=await runs.case_ids(unit, run_id))

    def _pool_problems(self, pool: str) -> Sequence[FieldProblem]:
        if pool in self._pools:
            return []
        known = ", ".join(self._pools)
        return [FieldProblem(path="pool", message=f"there is no such pool; known are {known}")]

    def _budget_warnings(
        self, budget_micro: int | None, settings: RunSettings, snapshots: Sequence[tuple[CaseSnapshot, str]]
    ) -> Sequence[Warning_]:
        if budget_micro is None:
            return []
        judged = any(a.kind == "judge" for case, _ in snapshots for a in case.assertions)
        unknown = unknown_prices(settings, self._prices, judged=judged)
        if not unknown:
            return []
        message = f"the price of {', '.join(unknown)} is unknown, so the budget cannot be enforced"
        if settings.budget_mode == "best_effort":
            return [Warning_(path="budgetCents", message=message, code="budget_not_enforced")]
        raise bad_request(
            [
                FieldProblem(
                    path="budgetMode",
                    message=f"{message}; add the price to the price table, or say budgetMode: best_effort",
                    code="price_unknown",
                )
            ],
            code="price_unknown",
        )
