"""From what was asked for to a run ready to be written, for single runs and for cells of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, not_found
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.enums import Runner
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.runs import RunCreate
from proctor_store.repositories import cases, handlers, integrations
from proctor_store.repositories.integrations import IntegrationRecord
from proctor_store.session import Unit

from .run_plan import case_snapshot, not_available, run_settings, selection_problems
from .run_tools import runner_problems
from .run_versions import ChosenVersion, chosen_version, provider_for
from .run_view import MICRO_PER_CENT
from .run_writing import Draft, chosen_ids

__all__ = ["RunDrafter"]


class RunDrafter:
    """Decides whether a run may start, and what it is made of.

    `judge` is the one from the settings, for runs that name none; `pools` are those that have a queue.
    """

    def __init__(self, *, judge: JudgeSettings | None, pools: Sequence[str]) -> None:
        self._judge = judge
        self._pools = tuple(pools)

    def check(self, body: RunCreate) -> None:
        """Refuse what cannot be played whatever the database holds.

        Raises:
            ApiError: 400 naming the fields.
        """
        problems = [*not_available(body), *selection_problems(body), *self._pool_problems(body.pool)]
        if problems:
            raise bad_request(problems, code=problems[0].code or "invalid")

    async def from_body(
        self, unit: Unit, caller: Caller, body: RunCreate, *, idempotency: tuple[str, str] | None = None
    ) -> Draft:
        """Find what the run names and snapshot it.

        Raises:
            ApiError: 400 naming the fields, 404 for unknown rows.
        """
        integration = await integrations.get(unit, caller.account_id, body.integration_id)
        if integration is None:
            raise not_found("integration")
        return await self.draft(
            unit,
            caller,
            body,
            integration=integration,
            chosen=await chosen_version(unit, caller, integration, body.prompt_version_id),
            case_ids=await chosen_ids(unit, caller, body),
            idempotency=idempotency,
        )

    async def draft(
        self,
        unit: Unit,
        caller: Caller,
        body: RunCreate,
        *,
        integration: IntegrationRecord,
        chosen: ChosenVersion | None,
        case_ids: Sequence[UUID],
        idempotency: tuple[str, str] | None = None,
        compare_run_id: UUID | None = None,
    ) -> Draft:
        """Snapshot what the run will be played with.

        Raises:
            ApiError: 400 when its runner cannot play it.
        """
        if faults := runner_problems(body, provider_for(body, integration, chosen)):
            raise bad_request(faults, code=faults[0].code or "invalid")
        tools = await handlers.of_integration(unit, integration.id) if body.runner is Runner.GATEWAY else ()
        # Oldest first, as they were written down: models read the order of tools as a preference.
        settings, warnings = run_settings(
            body, integration, judge=self._judge, handlers=tools[::-1], chosen=chosen
        )

        async def read(ids: Sequence[UUID]) -> Sequence[tuple[CaseSnapshot, str]]:
            found = await cases.by_ids(unit, caller.account_id, integration.id, ids)
            taken = [found[case] for case in ids]
            return [(case_snapshot(c, score_threshold=body.score_threshold), c.search_text) for c in taken]

        return Draft(
            settings=settings,
            case_ids=case_ids,
            read=read,
            trigger=body.trigger,
            tags=body.tags,
            warnings=warnings,
            budget_micro=None if body.budget_cents is None else round(body.budget_cents * MICRO_PER_CENT),
            prompt_overridden=body.agent_prompt_override is not None,
            agent_id=None if chosen is None else chosen.agent.id,
            prompt_version_id=None if chosen is None else chosen.version.id,
            compare_run_id=compare_run_id,
            idempotency=idempotency,
        )

    def _pool_problems(self, pool: str) -> Sequence[FieldProblem]:
        if pool in self._pools:
            return []
        known = ", ".join(self._pools)
        return [FieldProblem(path="pool", message=f"there is no such pool; known are {known}")]
