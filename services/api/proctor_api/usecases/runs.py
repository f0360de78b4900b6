"""Runs: start, read, list, cancel, play again, delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, conflict, not_found
from proctor_api.pipeline.settle import Settler
from proctor_contracts.enums import ResultStatus, RunStatus, Trigger
from proctor_contracts.messages import RunCancelled
from proctor_contracts.run_settings import RunSettings
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_contracts.schemas.runs import Rerun, RunCreate, RunView
from proctor_store.paging import Page, write_cursor
from proctor_store.repositories import outbox, pipeline, runs
from proctor_store.session import Database, Unit

from .run_drafting import RunDrafter
from .run_plan import body_digest
from .run_snapshots import snapshots_of
from .run_view import run_view
from .run_writing import Draft, RunWriter

__all__ = ["Runs"]

RERUN_STATUSES: dict[str, tuple[ResultStatus, ...] | None] = {
    "all": None,
    "failed": (ResultStatus.FAILED,),
    "errored": (ResultStatus.ERROR,),
    "unfinished": (ResultStatus.CANCELLED, ResultStatus.PENDING, ResultStatus.RUNNING),
}


class Runs:
    """The life of runs as their users steer it; `announce` tells workers at once that runs were cancelled."""

    def __init__(
        self,
        *,
        database: Database,
        settler: Settler,
        announce: Callable[[RunCancelled], Awaitable[None]],
        clock: Callable[[], datetime],
        writer: RunWriter,
        drafter: RunDrafter,
    ) -> None:
        self._database = database
        self._settler = settler
        self._announce = announce
        self._clock = clock
        self._writer = writer
        self._drafter = drafter

    async def start(
        self, caller: Caller, body: RunCreate, *, idempotency_key: str | None = None
    ) -> tuple[RunView, bool]:
        """Start a run; the flag says whether it is new or the one that this idempotency key started before.

        Raises:
            ApiError: 400 naming the fields, 402 without money, 404 for unknown rows, 409 for a key used with
                another body, 429 beyond the account's quota.
        """
        self._drafter.check(body)
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
            await self._writer.admit(unit, account)
            idempotency = None if idempotency_key is None else (idempotency_key, digest)
            draft = await self._drafter.from_body(unit, caller, body, idempotency=idempotency)
            run_id = await self._writer.write(unit, caller, draft)
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
        schedule_id: UUID | None = None,
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
                schedule_id=schedule_id,
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
            cancelled = await self.end(unit, [run_id])
            view = await self._view(unit, caller, run_id)
        await self.tell(cancelled)
        return view

    async def end(self, unit: Unit, run_ids: Sequence[UUID]) -> Sequence[UUID]:
        """Cancel those of some runs that go on, in the caller's transaction; returns which ones were."""
        held = await self._settler.lock(unit, run_ids)
        live = [run_id for run_id in run_ids if (run := held.runs.get(run_id)) is not None and run.live]
        for run_id in live:
            held.runs[run_id].cancel(await runs.cancel_open_results(unit, run_id, now=held.now))
            await outbox.drop_run(unit, run_id)
        if live:
            await self._settler.flush(unit, held)
        return live

    async def tell(self, cancelled: Sequence[UUID]) -> None:
        """Tell workers of runs that `end` cancelled, once that is durable."""
        if cancelled:
            await self._announce(RunCancelled(run_ids=tuple(cancelled)))

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
            old = await runs.find(unit, caller.account_id, run_id, keep=True)
            if old is None:
                raise not_found("run")
            if not RunStatus(old["status"]).final:
                raise conflict(
                    "the run is still going; wait for it or cancel it first",
                    field="id",
                    code="run_in_progress",
                )
            await self._writer.admit(unit, account)
            case_ids = await runs.rerun_ids(unit, run_id, statuses=RERUN_STATUSES[body.which])
            if not case_ids:
                message = f"the run has no {body.which} results"
                problem = FieldProblem(path="which", message=message, code="nothing_to_rerun")
                raise bad_request([problem], code="nothing_to_rerun")
            draft = Draft(
                settings=RunSettings.model_validate(old["settings"]),
                case_ids=case_ids,
                read=snapshots_of(unit, run_id),
                trigger=Trigger(old["trigger"]),
                tags=tuple(old["tags"]),
                warnings=(),
                budget_micro=old["budget_micro"],
                prompt_overridden=old["prompt_overridden"],
                agent_id=old["agent_id"],
                prompt_version_id=old["prompt_version_id"],
                rerun_of=run_id,
            )
            new = await self._writer.write(unit, caller, draft)
            return await self._view(unit, caller, new)

    async def delete(self, caller: Caller, run_id: UUID) -> None:
        """Take a run away at once; its results, transcripts and events are deleted soon after.

        Raises:
            ApiError: 404, 409 while the run goes on.
        """
        async with self._database.transaction() as unit:
            row = await runs.find(unit, caller.account_id, run_id)
            if row is None:
                raise not_found("run")
            if not RunStatus(row["status"]).final:
                raise conflict("the run is still going; cancel it first", field="id", code="run_in_progress")
            # A hundred thousand results in one transaction would be felt by others.
            await runs.hide(unit, run_id, now=self._clock())

    async def _view(self, unit: Unit, caller: Caller, run_id: UUID) -> RunView:
        row = await runs.find(unit, caller.account_id, run_id)
        if row is None:
            raise not_found("run")
        return run_view(row, now=self._clock(), case_ids=await runs.case_ids(unit, run_id))
