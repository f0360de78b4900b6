"""Comparisons: the same cases against every cell of a matrix, read side by side, cancelled as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, conflict, not_found
from proctor_contracts.enums import Provider, RunStatus
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_contracts.schemas.compare import (
    CompareCell,
    CompareCreate,
    CompareDetail,
    CompareStatus,
    CompareView,
)
from proctor_contracts.topology import DEFAULT_POOL
from proctor_grading.matrix import Cell, pairs, side_by_side
from proctor_store.conflicts import Vanished
from proctor_store.paging import Page
from proctor_store.repositories import compares, pipeline
from proctor_store.repositories.agents import AgentRecord
from proctor_store.repositories.compares import CompareRecord
from proctor_store.session import Database, Unit

from .agents import agent_of
from .compare_plan import (
    PlannedCell,
    budget_shares,
    cell_body,
    compare_digest,
    in_cell,
    planned,
    refuse_duplicates,
    trials_problems,
)
from .compare_rounds import (
    by_cell,
    cell_standings,
    first_portion,
    results_of,
    standings_of,
    until_of,
)
from .compare_view import compare_view
from .integrations import integration_of
from .run_drafting import RunDrafter
from .run_versions import ChosenVersion
from .run_view import MICRO_PER_CENT
from .run_writing import Draft, RunWriter, chosen_ids
from .runs import Runs
from .versions import version_of

__all__ = ["Compares"]


class Compares:
    """Starts, reads and cancels comparisons; `pools` says which pool plays a provider's cells."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Callable[[], datetime],
        writer: RunWriter,
        drafter: RunDrafter,
        runs: Runs,
        pools: Mapping[Provider, str],
    ) -> None:
        self._database = database
        self._clock = clock
        self._writer = writer
        self._drafter = drafter
        self._runs = runs
        self._pools = pools

    async def start(
        self, caller: Caller, agent_id: UUID, body: CompareCreate, *, idempotency_key: str | None = None
    ) -> tuple[CompareView, bool]:
        """Start a run a cell, all or none; the flag says whether it is new or this key's of before.

        Raises:
            ApiError: 400 naming the cell, 402 without money, 404, 409 for a key used with another body, 429.
        """
        if body.baseline >= len(body.matrix):
            message = f"the matrix has {len(body.matrix)} cells, counted from 0"
            raise bad_request([FieldProblem(path="baseline", message=message)])
        if problems := trials_problems(body):
            raise bad_request(problems)
        shares = budget_shares(body.budget_cents, len(body.matrix))
        digest = compare_digest(agent_id, body)
        async with self._database.transaction() as unit:
            account = (await pipeline.lock_accounts(unit, [caller.account_id]))[caller.account_id]
            if idempotency_key is not None and (
                found := await compares.by_idempotency_key(unit, caller.account_id, idempotency_key)
            ):
                if found.idempotency_hash != digest:
                    raise conflict(
                        "this Idempotency-Key started another comparison; use a new key for a new one",
                        field="Idempotency-Key",
                        code="idempotency_key_reused",
                    )
                return await self._view(unit, found), False
            await self._writer.admit(unit, account, count=len(body.matrix))
            agent = await agent_of(unit, caller, agent_id)
            compare_id = new_id()
            cells, drafts, case_ids = await self._drafts(
                unit, caller, agent, body, shares=shares, compare_id=compare_id
            )
            run_ids = []
            for place, draft in enumerate(drafts):
                with in_cell(place):
                    run_ids.append(await self._writer.write(unit, caller, draft))
            now = self._clock()
            record = CompareRecord(
                id=compare_id,
                account_id=caller.account_id,
                agent_id=agent.id,
                integration_id=agent.integration_id,
                matrix=[cell.stored() for cell in cells],
                case_ids=[str(case) for case in case_ids],
                settings=body.model_dump(mode="json", by_alias=True, exclude={"matrix", "case_ids"}),
                status=CompareStatus.RUNNING.value,
                run_ids=[str(run) for run in run_ids],
                baseline=body.baseline,
                budget_micro=None if body.budget_cents is None else sum(share or 0 for share in shares),
                warnings=[],
                created_at=now,
                updated_at=now,
                idempotency_key=idempotency_key,
                idempotency_hash=None if idempotency_key is None else digest,
            )
            try:
                await compares.create(unit, record)
            except Vanished as error:
                raise not_found("agent") from error
            return await self._view(unit, record), True

    async def list(
        self,
        caller: Caller,
        page: Page,
        *,
        agent_id: UUID | None = None,
        integration_id: UUID | None = None,
    ) -> Listing[CompareView]:
        """List comparisons with their live counters, newest first."""
        async with self._database.reading() as unit:
            rows = await compares.listed(
                unit, caller.account_id, page, agent_id=agent_id, integration_id=integration_id
            )
            found = await compares.runs_of(unit, [record.id for record in rows.items])
        now = self._clock()
        return Listing[CompareView](
            data=tuple(compare_view(record, found[record.id], now=now) for record in rows.items),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def detail(self, caller: Caller, compare_id: UUID, *, take: int, skip: int) -> CompareDetail:
        """Read a comparison whole, with `take` of its cases after `skip` others.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            record = await self._record(unit, caller, compare_id)
            runs = (await compares.runs_of(unit, [compare_id]))[compare_id]
            of_cells = by_cell(record, runs)
            results = [await results_of(unit, cell) for cell in of_cells]
        view = compare_view(record, runs, now=self._clock())
        cells = [
            Cell(cell.run_id, list(chain.from_iterable(rows)))
            for cell, rows in zip(view.cells, results, strict=True)
        ]
        over, until = view.completed_at is not None, until_of(record)
        # Permutation tests of many pairs take a while, so never on the event loop.
        rows = await asyncio.to_thread(side_by_side, cells)
        fixed = over and until is None
        tested = await asyncio.to_thread(pairs, cells, baseline=view.baseline) if fixed else []
        ended = [
            [each for run, each in zip(cell, rows, strict=True) if RunStatus(run["status"]).final]
            for cell, rows in zip(of_cells, results, strict=True)
        ]
        return CompareDetail(
            **dict(view),
            rows=tuple(rows[skip : skip + take]),
            rows_total=len(rows),
            pairs=tuple(tested),
            standings=()
            if until is None
            else cell_standings(standings_of(record, ended, until), over=over, until=until),
        )

    async def cancel(self, caller: Caller, compare_id: UUID) -> CompareView:
        """Cancel every cell that goes on; what is finished keeps its results, and again changes nothing.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            # Locked first, so that no further round begins meanwhile.
            await pipeline.lock_accounts(unit, [caller.account_id])
            record = await self._record(unit, caller, compare_id)
            runs = (await compares.runs_of(unit, [compare_id]))[compare_id]
            cancelled = await self._runs.end(unit, [run["id"] for run in runs])
            if cancelled or (until_of(record) and record.status == CompareStatus.RUNNING.value):
                changed = {"status": CompareStatus.CANCELLED.value, "updated_at": self._clock()}
                await compares.change(unit, record.id, changed)
            view = await self._view(unit, await self._record(unit, caller, compare_id))
        await self._runs.tell(cancelled)
        return view

    async def _drafts(
        self,
        unit: Unit,
        caller: Caller,
        agent: AgentRecord,
        body: CompareCreate,
        *,
        shares: Sequence[int | None],
        compare_id: UUID,
    ) -> tuple[Sequence[PlannedCell], Sequence[Draft], Sequence[UUID]]:
        integration = await integration_of(unit, caller, agent.integration_id)
        cells = []
        bodies = []
        for place, cell in enumerate(body.matrix):
            asked = cell_body(body, integration.id, cell)
            with in_cell(place):
                plan = planned(
                    asked,
                    cell,
                    integration=integration,
                    chosen=await self._chosen(unit, caller, agent, cell),
                    pools=self._pools,
                    budget_micro=shares[place],
                )
            cells.append(plan)
            bodies.append(asked.model_copy(update={"pool": plan.pool}))
        refuse_duplicates(cells)
        # What the cells share is refused by its own name, what only one has by the cell's.
        self._drafter.check(bodies[0].model_copy(update={"pool": DEFAULT_POOL}))
        case_ids = await chosen_ids(unit, caller, bodies[0])
        until = body.until_decided
        played = case_ids if until is None else first_portion(compare_id, case_ids, until)
        drafts = []
        for place, (plan, asked) in enumerate(zip(cells, bodies, strict=True)):
            with in_cell(place):
                self._drafter.check(asked)
                share = plan.budget_micro
                budget = None if share is None else share / MICRO_PER_CENT
                draft = await self._drafter.draft(
                    unit,
                    caller,
                    asked.model_copy(update={"budget_cents": budget}),
                    integration=integration,
                    chosen=plan.chosen,
                    case_ids=played,
                    compare_run_id=compare_id,
                )
            drafts.append(draft)
        return cells, drafts, case_ids

    async def _chosen(
        self, unit: Unit, caller: Caller, agent: AgentRecord, cell: CompareCell
    ) -> ChosenVersion:
        wanted = cell.prompt_version_id or agent.current_version_id
        if wanted is None:
            message = "the agent has no current version; name one"
            raise bad_request([FieldProblem(path="promptVersionId", message=message)])
        version = await version_of(unit, caller, agent, wanted, field="promptVersionId")
        return ChosenVersion(agent, version)

    async def _record(self, unit: Unit, caller: Caller, compare_id: UUID) -> CompareRecord:
        found = await compares.get(unit, caller.account_id, compare_id)
        if found is None:
            raise not_found("comparison")
        return found

    async def _view(self, unit: Unit, record: CompareRecord) -> CompareView:
        runs = await compares.runs_of(unit, [record.id])
        return compare_view(record, runs[record.id], now=self._clock())
