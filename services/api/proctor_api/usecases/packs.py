"""Packs of ready attacks for an integration; what is there already stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, conflict
from proctor_contracts.schemas.adversarial import SeedAdversarial, SeedOutcome
from proctor_store.conflicts import Duplicate
from proctor_store.repositories import cases
from proctor_store.session import Database

from .case_rows import new_record
from .integrations import integration_of
from .validation import Bot, CaseChecks, bot_of, facts_of

if TYPE_CHECKING:  # read only where somebody asks for a pack
    from proctor_casefiles.packs.building import Wishes

__all__ = ["Packs"]


class Packs:
    """Adds the cases of a pack whose refs the integration does not have yet."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime], checks: CaseChecks) -> None:
        self._database = database
        self._clock = clock
        self._checks = checks

    async def seed(self, caller: Caller, body: SeedAdversarial) -> SeedOutcome:
        """Add a pack in one transaction; a second call adds nothing.

        Raises:
            ApiError: 400 for a competitor that is part of the brand's name, 404, 409 when another writer took
                one of the refs at the same moment.
        """
        from proctor_casefiles.packs.building import build_pack, wishes_problems  # noqa: PLC0415 - seldom used

        async with self._database.reading() as unit:
            bot = await bot_of(unit, caller, body.integration_id)
        wishes = _wishes(body, bot)
        if problems := wishes_problems(wishes):
            raise bad_request(problems)
        pack = build_pack(wishes)
        findings = await self._checks.examine(pack.cases, bot)
        if faults := [
            problem.model_copy(update={"path": f"{case.ref}.{problem.path}"})
            for case, found in zip(pack.cases, findings, strict=True)
            for problem in found.problems
        ]:
            raise bad_request(faults)
        records = [
            new_record(
                case,
                account_id=caller.account_id,
                integration_id=body.integration_id,
                now=self._clock(),
                path=f"{case.ref}.",
            )
            for case in pack.cases
        ]
        try:
            async with self._database.transaction() as unit:
                await integration_of(unit, caller, body.integration_id, lock=True)
                refs = {record.ref for record in records if record.ref is not None}
                known = await cases.known_as(unit, body.integration_id, refs=refs, names=())
                taken = {record.ref for record in known}
                created = [record for record in records if record.ref not in taken]
                await cases.create(unit, created)
        except Duplicate as error:
            message = "another writer took one of these refs at the same moment; send the request again"
            raise conflict(message, field=error.field) from error
        return SeedOutcome(
            created=len(created),
            skipped=len(records) - len(created),
            total=len(records),
            warnings=pack.warnings,
        )


def _wishes(body: SeedAdversarial, bot: Bot) -> Wishes:
    from proctor_casefiles.packs.building import Seen, Wishes  # noqa: PLC0415 - as above

    facts = facts_of(bot)
    seen = Seen(
        prompt=facts.has_prompt is not False,
        tool_calls=facts.captures_tools is not False,
        tools=tuple(sorted(bot.tools)),
    )
    return Wishes(
        locale=body.locale,
        pack=body.pack,
        brand=body.brand,
        brand_cyr=body.brand_cyr,
        competitors=body.competitors,
        judge=body.judge,
        seen=seen,
    )
