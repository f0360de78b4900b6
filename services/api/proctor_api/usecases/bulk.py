"""Many cases at once: all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, conflict
from proctor_contracts.schemas.cases import BulkCases, BulkOutcome
from proctor_contracts.schemas.common import FieldProblem, Warning_
from proctor_store.conflicts import Duplicate
from proctor_store.repositories import cases
from proctor_store.repositories.cases import CaseRecord
from proctor_store.session import Database

from .case_rows import new_record, rewritten
from .integrations import integration_of
from .validation import CaseChecks, bot_of

__all__ = ["CaseBulk"]


class CaseBulk:
    """Creates or updates cases by `ref`, or by exact name where a case has none."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime], checks: CaseChecks) -> None:
        self._database = database
        self._clock = clock
        self._checks = checks

    async def upsert(self, caller: Caller, body: BulkCases) -> BulkOutcome:
        """Write all cases in one transaction; those that are there already and the same are not touched.

        Raises:
            ApiError: 400 with paths such as `cases.3.assertions.0.pattern`, 404, 409 for cases that cannot be
                told apart, 413.
        """
        now = self._clock()
        wanted = [self._record(caller, body, index, now=now) for index in range(len(body.cases))]
        _refuse_repeats(wanted)
        async with self._database.reading() as unit:
            bot = await bot_of(unit, caller, body.integration_id)
        findings = await self._checks.examine(body.cases, bot)
        problems = [
            problem.model_copy(update={"path": f"cases.{index}.{problem.path}"})
            for index, found in enumerate(findings)
            for problem in found.problems
        ]
        if problems:
            raise bad_request(problems)
        warnings = tuple(
            Warning_(path=f"cases.{index}.{one.path}", message=one.message, code=one.code)
            for index, found in enumerate(findings)
            for one in found.warnings
        )
        try:
            async with self._database.transaction() as unit:
                # The lock makes two bulk writers of one integration take turns instead of colliding.
                await integration_of(unit, caller, body.integration_id, lock=True)
                known = await cases.known_as(
                    unit,
                    body.integration_id,
                    refs={record.ref for record in wanted if record.ref is not None},
                    names={record.name for record in wanted if record.ref is None},
                )
                matches = _match(wanted, known)
                created = [record for record, stored in zip(wanted, matches, strict=True) if stored is None]
                ids: list[UUID] = []
                updated: list[CaseRecord] = []
                for index, (record, stored) in enumerate(zip(wanted, matches, strict=True)):
                    if stored is None:
                        result = record
                    elif record.ref is None and stored.ref is not None:
                        result = rewritten(stored, self._record(caller, body, index, now=now, ref=stored.ref))
                    else:
                        result = rewritten(stored, record)
                    ids.append(result.id)
                    if stored is not None and result is not stored:
                        updated.append(result)
                await cases.change(unit, updated)
                await cases.create(unit, created)
        except Duplicate as error:
            message = "another writer took one of these refs at the same moment; send the cases again"
            raise conflict(message, field=error.field) from error
        return BulkOutcome(
            created=len(created),
            updated=len(updated),
            unchanged=len(wanted) - len(created) - len(updated),
            ids=tuple(ids),
            warnings=warnings,
        )

    def _record(
        self, caller: Caller, body: BulkCases, index: int, *, now: datetime, ref: str | None = None
    ) -> CaseRecord:
        case = body.cases[index]
        return new_record(
            case if ref is None else case.model_copy(update={"ref": ref}),
            account_id=caller.account_id,
            integration_id=body.integration_id,
            now=now,
            path=f"cases.{index}.",
        )


def _refuse_repeats(wanted: Sequence[CaseRecord]) -> None:
    seen: dict[tuple[str, str], int] = {}
    problems: list[FieldProblem] = []
    for index, record in enumerate(wanted):
        field, value = ("name", record.name) if record.ref is None else ("ref", record.ref)
        first = seen.setdefault((field, value), index)
        if first != index:
            message = f"cases {first} and {index} have the same {field} {value!r}"
            problems.append(FieldProblem(path=f"cases.{index}.{field}", message=message, code="duplicate"))
    if problems:
        raise conflict(problems[0].message, problems)


def _match(wanted: Sequence[CaseRecord], known: Sequence[CaseRecord]) -> list[CaseRecord | None]:
    """Find the stored row of each case: by ref, else by name, where one without a ref comes first."""
    by_ref = {record.ref: record for record in known if record.ref is not None}
    by_name: dict[str, list[CaseRecord]] = {}
    for record in known:
        by_name.setdefault(record.name, []).append(record)
    taken: dict[UUID, int] = {}
    matches: list[CaseRecord | None] = []
    for index, record in enumerate(wanted):
        if record.ref is not None:
            stored = by_ref.get(record.ref)
        else:
            named = by_name.get(record.name, [])
            named = [one for one in named if one.ref is None] or named
            if len(named) > 1:
                message = f"{len(named)} stored cases are called {record.name!r}; give the case a ref"
                raise conflict(message, field=f"cases.{index}.name", code="ambiguous")
            stored = named[0] if named else None
        if stored is not None and taken.setdefault(stored.id, index) != index:
            message = f"cases {taken[stored.id]} and {index} are both the stored case {stored.id}"
            raise conflict(message, field=f"cases.{index}.name")
        matches.append(stored)
    return matches
