"""Variants of a prompt, drafted by a model from feedback, the rules in force and failed conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, payment_required
from proctor_contracts.enums import ResultStatus
from proctor_contracts.schemas.agents import Generate, Generated, VersionSource
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_store.paging import MAX_TAKE, Page
from proctor_store.repositories import accounts, cases, results, runs
from proctor_store.repositories.agents import AgentRecord
from proctor_store.repositories.cases import CaseQuery
from proctor_store.repositories.versions import VersionRecord
from proctor_store.session import Database, Unit

from .agents import agent_of
from .integrations import PROMPT_LIMIT
from .meta import MetaFailed, MetaModel
from .variant_request import (
    Conversation,
    Variant,
    instructions,
    most_tokens,
    read_variants,
    request_data,
)
from .versions import Draft, added, asking, version_of, version_view

__all__ = ["Variants"]

MOST_RULES = 40
MOST_RUNS = 5
RESULTS_EACH = 5
_PRIORITIES = ("high", "medium", "low")
_MOST_CASES = 2_000


class Variants:
    """Asks the meta model for drafts; whatever it does, the request succeeds and nothing is half-written."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime], meta: MetaModel | None) -> None:
        self._database = database
        self._clock = clock
        self._meta = meta

    async def generate(self, caller: Caller, agent_id: UUID, body: Generate) -> Generated:
        """Draft variants of a version; none is activated.

        Raises:
            ApiError: 400 naming a version or run that is not this agent's, 402 without money, 404.
        """
        async with self._database.reading() as unit:
            agent = await agent_of(unit, caller, agent_id)
            await self._solvent(unit, caller)
            base = await self._base(unit, caller, agent, body)
            failures = await self._failures(unit, caller, agent, body.failed_run_ids)
            rules = await self._rules(unit, caller, agent)
        warnings: list[Warning_] = []
        if len(body.failed_run_ids) > MOST_RUNS:
            message = f"only the first {MOST_RUNS} runs were read"
            warnings.append(Warning_(path="failedRunIds", message=message, code="cut"))
        data, cut = request_data(prompt=base.prompt, feedback=body.feedback, rules=rules, failures=failures)
        if cut:
            message = "the rules and conversations were more than the model is given; the last were left out"
            warnings.append(Warning_(path="failedRunIds", message=message, code="cut"))
        variants, failed = await self._ask(base, body, data)
        if failed is not None or not variants:
            message = failed or "the meta model gave no variant that could be used"
            return Generated(
                data=(), warnings=(*warnings, Warning_(path="", message=message, code="nothing_generated"))
            )
        if len(variants) < body.variant_count:
            message = f"the meta model gave {len(variants)} of {body.variant_count} variants"
            warnings.append(Warning_(path="variantCount", message=message, code="fewer_variants"))
        return await self._written(caller, base, variants, feedback=body.feedback, warnings=warnings)

    async def _ask(
        self, base: VersionRecord, body: Generate, data: str
    ) -> tuple[Sequence[Variant], str | None]:
        if self._meta is None:
            return (), "no meta model is configured"
        try:
            text = await self._meta.ask(
                instructions=instructions(body.variant_count),
                data=data,
                max_tokens=most_tokens(base.prompt, body.variant_count),
            )
        except MetaFailed as error:
            return (), f"the meta model failed: {error}"
        found = read_variants(text, base=base.prompt, count=body.variant_count, largest_bytes=PROMPT_LIMIT)
        return found, None

    async def _written(
        self,
        caller: Caller,
        base: VersionRecord,
        variants: Sequence[Variant],
        *,
        feedback: str,
        warnings: Sequence[Warning_],
    ) -> Generated:
        async with self._database.transaction() as unit:
            agent = await agent_of(unit, caller, base.agent_id, lock=True)
            now = self._clock()
            written = [
                await added(
                    unit,
                    agent,
                    Draft(
                        prompt=variant.prompt,
                        source=VersionSource.AI_GENERATED,
                        parent_version_id=base.id,
                        generation_context=_context(feedback, variant.rationale),
                        created_by=asking(caller),
                    ),
                    now=now,
                )
                for variant in variants
            ]
        views = tuple(version_view(version, agent.current_version_id) for version in written)
        return Generated(data=views, warnings=tuple(warnings))

    async def _solvent(self, unit: Unit, caller: Caller) -> None:
        account = await accounts.get(unit, caller.account_id)
        if account is not None and account.balance_micro is not None and account.balance_micro <= 0:
            raise payment_required("the account's balance is used up; top it up to have variants drafted")

    async def _base(self, unit: Unit, caller: Caller, agent: AgentRecord, body: Generate) -> VersionRecord:
        base = body.base_version_id or agent.current_version_id
        if base is None:
            message = "the agent has no current version; name one"
            raise bad_request([FieldProblem(path="baseVersionId", message=message)])
        return await version_of(unit, caller, agent, base, field="baseVersionId")

    async def _rules(self, unit: Unit, caller: Caller, agent: AgentRecord) -> Sequence[str]:
        """The rubrics of up to 40 active cases, those that matter most to their authors first."""
        found: list[str] = []
        for priority in _PRIORITIES:
            query = CaseQuery(integration_id=agent.integration_id, priority=priority, is_active=True)
            ids = (await cases.matching(unit, caller.account_id, query))[:_MOST_CASES]
            for start in range(0, len(ids), MAX_TAKE):
                some = ids[start : start + MAX_TAKE]
                read = await cases.by_ids(unit, caller.account_id, agent.integration_id, some)
                found += [
                    rule
                    for case in some
                    if case in read and (rule := _rule(read[case].rubric, read[case].assertions))
                ]
                if len(found) >= MOST_RULES:
                    return found[:MOST_RULES]
        return found

    async def _failures(
        self, unit: Unit, caller: Caller, agent: AgentRecord, run_ids: Sequence[UUID]
    ) -> Sequence[Conversation]:
        found: list[Conversation] = []
        for place, run_id in enumerate(run_ids[:MOST_RUNS]):
            run = await runs.find(unit, caller.account_id, run_id)
            field = f"failedRunIds.{place}"
            if run is None:
                problem = FieldProblem(path=field, message="there is no such run")
                raise ApiError(404, "not_found", "there is no such run in this account", [problem])
            if run["integration_id"] != agent.integration_id:
                raise bad_request([FieldProblem(path=field, message="is a run of another integration")])
            page = Page(take=RESULTS_EACH)
            rows, _ = await results.listing(unit, run_id, status=ResultStatus.FAILED.value, page=page)
            rows = rows[:RESULTS_EACH]
            phases = await results.phases(unit, [row["id"] for row in rows])
            found += [_conversation(row, phases.get(row["id"], {})) for row in rows]
        return found


def _rule(rubric: str | None, assertions: Sequence[Mapping[str, Any]]) -> str:
    judged = (one.get("rubric") for one in assertions if one.get("kind") == "judge")
    texts = [text.strip() for text in (rubric, *judged) if isinstance(text, str) and text.strip()]
    return "\n".join(dict.fromkeys(texts))


def _conversation(
    row: Mapping[Any, Any], phases: Mapping[int, Mapping[str, Mapping[str, Any]]]
) -> Conversation:
    phase = phases.get(row["deciding_attempt"] or row["attempt"], {})
    messages = [
        (str(entry.get("role", "")), str(entry.get("content", "")))
        for entry in phase.get("executed", {}).get("transcript", ())
    ]
    failed = [
        str(check.get("message", ""))
        for part in ("executed", "judged")
        for check in phase.get(part, {}).get("assertionResults", ())
        if check.get("verdict") == "failed"
    ]
    return Conversation(str(row["name"]), messages, failed)


def _context(feedback: str, rationale: str) -> str:
    return f"Feedback: {feedback}\n\nRationale: {rationale}" if rationale else f"Feedback: {feedback}"
