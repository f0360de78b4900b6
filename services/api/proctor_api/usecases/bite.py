"""How well the checks of stored cases bite."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, not_found
from proctor_contracts.schemas.bite import BiteReport, BiteRequest, CaseBite, MutantKind
from proctor_contracts.schemas.common import FieldProblem
from proctor_grading.context import GradingContext, LanguageDetector, RegexEngine
from proctor_store.repositories import cases
from proctor_store.repositories.cases import CaseQuery, CaseRecord
from proctor_store.session import Database

from .case_rows import case_fields
from .integrations import integration_of
from .validation import bot_of

__all__ = ["Biting"]

_MOST_CASES = 2_000
_AT_ONCE = 20


class Biting:
    """Makes mutants of cases' references and grades them by code: no model and no bot is called."""

    def __init__(
        self,
        *,
        database: Database,
        executor: Executor,
        regex: RegexEngine,
        languages: LanguageDetector | None = None,
    ) -> None:
        self._database = database
        self._executor = executor
        self._context = GradingContext(regex=regex, languages=languages)

    async def of_case(self, caller: Caller, case_id: UUID) -> CaseBite:
        """Score one case.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            found = await cases.get(unit, caller.account_id, case_id)
            if found is None:
                raise not_found("case")
            bot = await bot_of(unit, caller, found.integration_id)
        (bitten,) = await self._score([found], bot.integration.agent_prompt)
        return bitten

    async def of_integration(self, caller: Caller, body: BiteRequest) -> BiteReport:
        """Score an integration's active cases, or the named ones whether active or not.

        Raises:
            ApiError: 400 for more than 2,000 cases or an unknown one, 404.
        """
        async with self._database.reading() as unit:
            integration = await integration_of(unit, caller, body.integration_id)
            if body.case_ids is not None:
                wanted = tuple(dict.fromkeys(body.case_ids))
            else:
                query = CaseQuery(
                    integration_id=integration.id,
                    category=body.category,
                    tags=() if body.tag is None else (body.tag,),
                    is_active=True,
                )
                wanted = await cases.matching(unit, caller.account_id, query)
            if len(wanted) > _MOST_CASES:
                found = (
                    f"{len(wanted):,} cases; at most {_MOST_CASES:,} are scored at once: give category or tag"
                )
                raise bad_request([FieldProblem(path="integrationId", message=found)])
            records = await cases.by_ids(unit, caller.account_id, integration.id, wanted)
        if missing := [number for number, case_id in enumerate(wanted) if case_id not in records]:
            message = "the integration has no such case"
            raise bad_request(FieldProblem(path=f"caseIds.{number}", message=message) for number in missing)
        from proctor_grading.bite.summary import bite_report, without_killed  # noqa: PLC0415 - seldom used

        chosen = [records[case_id] for case_id in wanted]
        bitten = await self._score(chosen, integration.agent_prompt, without=body.without)
        report = bite_report(bitten)
        if body.full:
            return report
        return report.model_copy(update={"cases": tuple(map(without_killed, report.cases))})

    async def _score(
        self, records: Sequence[CaseRecord], prompt: str, *, without: Sequence[MutantKind] = ()
    ) -> list[CaseBite]:
        context = replace(self._context, prompt=prompt)
        loop = asyncio.get_running_loop()
        bitten: list[CaseBite] = []
        for start in range(0, len(records), _AT_ONCE):  # others need the thread of patterns too
            part = records[start : start + _AT_ONCE]
            bitten += await loop.run_in_executor(self._executor, _scored, part, context, without)
        return bitten


def _scored(
    records: Sequence[CaseRecord], context: GradingContext, without: Sequence[MutantKind]
) -> list[CaseBite]:
    from proctor_grading.bite.score import bite  # noqa: PLC0415 - its patterns take time to build

    return [bite(case_fields(one), context, without=without, case_id=one.id) for one in records]
