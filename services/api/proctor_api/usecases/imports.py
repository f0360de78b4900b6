"""Cases from files: read, checked, matched with what is stored, and written all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import ValidationError

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, too_large
from proctor_api.problems import field_problems
from proctor_casefiles.drafts import CaseDraft, FileRefused, Reading
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.imports import ImportOutcome, ImportProblem
from proctor_store.conflicts import Duplicate
from proctor_store.repositories import cases
from proctor_store.repositories.cases import CaseRecord
from proctor_store.session import Database, Unit

from .case_rows import new_record, rewritten
from .import_plan import Usual, Wanted, matched, merged, repeats
from .integrations import integration_of
from .validation import Bot, CaseChecks, Findings, bot_of

if TYPE_CHECKING:
    from proctor_casefiles.categories import CategoryTable

__all__ = ["Imports", "refused"]

_READ_AT_ONCE = 1
_CHECKED_AT_ONCE = 200
_WRITTEN_AT_ONCE = 1_000
_MOST_SAID = 1_000
_LANGUAGE = "uk"
_NOBODY, _NEVER = UUID(int=0), datetime(2000, 1, 1, tzinfo=UTC)
_GIVEN = {one.alias or name: name for name, one in CaseFields.model_fields.items()}


@dataclass(slots=True)
class _Book:
    """What is wrong so far, by the number of the draft; a draft with a problem is not written."""

    problems: dict[int, list[ImportProblem]] = field(default_factory=dict)
    warnings: list[ImportProblem] = field(default_factory=list)

    def refuse(self, index: int, *problems: ImportProblem) -> None:
        """Note problems of one draft."""
        if problems:
            self.problems.setdefault(index, []).extend(problems)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What would be written; `stored` are the rows that the cases are, None for a new one."""

    created: Sequence[CaseRecord]
    updated: Sequence[CaseRecord]
    warnings: Sequence[ImportProblem]


class Imports:
    """Brings cases from files into an integration: by ref, all valid ones in one transaction."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Callable[[], datetime],
        checks: CaseChecks,
        categories: CategoryTable | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._checks = checks
        self._categories = categories
        self._readers = asyncio.Semaphore(_READ_AT_ONCE)

    async def workbook(
        self,
        caller: Caller,
        integration_id: UUID,
        data: bytes,
        *,
        dry_run: bool = False,
        sheet: str | None = None,
        categories: bytes | None = None,
    ) -> ImportOutcome:
        """Import an .xlsx workbook; `categories` is a table of usual checks instead of the installation's.

        Raises:
            ApiError: 400 for what is no such workbook or table, 404, 413.
        """
        async with self._database.reading() as unit:
            integration = await integration_of(unit, caller, integration_id)
        language = (integration.locale or _LANGUAGE)[:2]
        table = self._table(categories)

        def usual(case: CaseFields) -> tuple[Mapping[str, Any], ...] | None:
            return table.assertions(
                category=case.category, name=case.name, description=case.rubric or "", language=language
            )

        def read() -> Reading:
            from proctor_casefiles.xlsx.reading import read_cases  # noqa: PLC0415 - openpyxl takes its time

            return read_cases(data, table=table, language=language, sheet=sheet)

        async with self._readers:  # each may take some dozens of megabytes
            try:
                reading = await asyncio.to_thread(read)
            except FileRefused as error:
                raise refused(error) from error
            return await self.apply(caller, integration_id, reading, dry_run=dry_run, usual=usual)

    async def apply(
        self,
        caller: Caller,
        integration_id: UUID,
        reading: Reading,
        *,
        dry_run: bool = False,
        usual: Usual | None = None,
    ) -> ImportOutcome:
        """Write the drafts of a file that have no problem, all in one transaction; the others are reported.

        `usual` tells made-up checks from those that somebody wrote, which made-up ones never replace.

        Raises:
            ApiError: 404, 409 when another writer is in the way.
        """
        async with self._database.reading() as unit:
            bot = await bot_of(unit, caller, integration_id)
        now = self._clock()
        book = _Book(warnings=list(reading.warnings))
        wanted = await asyncio.to_thread(_valid, reading, book)
        known = await self._known(integration_id, wanted)
        await self._examine(wanted, known, book, bot=bot, usual=usual)
        kept = [one for index, one in wanted.items() if index not in book.problems]

        def plan(stored: Sequence[CaseRecord]) -> _Plan:
            return _planned(kept, stored, caller, integration_id, now=now, usual=usual)

        if dry_run or not kept:
            planned = await asyncio.to_thread(plan, known)
        else:
            try:
                async with self._database.transaction() as unit:
                    # The lock makes two imports of one integration take turns instead of colliding.
                    await integration_of(unit, caller, integration_id, lock=True)
                    planned = await asyncio.to_thread(plan, await _known_as(unit, integration_id, kept))
                    await _write(unit, planned)
            except Duplicate as error:
                message = "another writer took one of these refs at the same moment; import the file again"
                raise conflict(message, field=error.field) from error
        return _outcome(reading, book, planned, dry_run=dry_run)

    def _table(self, given: bytes | None) -> CategoryTable:
        from proctor_casefiles.categories import (  # noqa: PLC0415 - most commands import nothing
            CategoryTableInvalid,
            default_categories,
            read_categories,
        )

        if given is None:
            return self._categories or default_categories()
        try:
            return read_categories(given)
        except CategoryTableInvalid as error:
            raise bad_request([FieldProblem(path="categories", message=str(error))]) from error

    async def _known(self, integration_id: UUID, wanted: Mapping[int, Wanted]) -> Sequence[CaseRecord]:
        async with self._database.reading() as unit:
            return await _known_as(unit, integration_id, list(wanted.values()))

    async def _examine(
        self,
        wanted: Mapping[int, Wanted],
        known: Sequence[CaseRecord],
        book: _Book,
        *,
        bot: Bot,
        usual: Usual | None,
    ) -> None:
        """Check each case as it will be stored; a few at a time, since others need the thread of patterns."""
        going = [(index, one) for index, one in wanted.items() if index not in book.problems]
        stored = matched([one for _, one in going], known)
        for start in range(0, len(going), _CHECKED_AT_ONCE):
            part = going[start : start + _CHECKED_AT_ONCE]
            whole = [
                merged(one, there, usual)[0]
                for (_, one), there in zip(part, stored[start : start + len(part)], strict=True)
            ]
            findings = await self._checks.examine(whole, bot)
            for (index, one), found in zip(part, findings, strict=True):
                _note(book, index, one, found)


def refused(error: FileRefused) -> ApiError:
    """Put the refusal of a whole file as an answer."""
    if error.too_large:
        return too_large("file", error.message)
    return bad_request(
        [FieldProblem(path="file", message=error.message, code=error.code)],
        detail=error.message,
        code=error.code,
    )


def _valid(reading: Reading, book: _Book) -> dict[int, Wanted]:
    """Validate every draft, also those with problems: one fault must not hide another."""
    wanted: dict[int, Wanted] = {}
    for index, draft in enumerate(reading.drafts):
        book.refuse(index, *draft.problems)
        fields = dict(draft.fields)
        if draft.typical is not None:
            fields["assertions"] = draft.typical.assertions
        try:
            case = CaseFields.model_validate(fields)
            new_record(case, account_id=_NOBODY, integration_id=_NOBODY, now=_NEVER)
        except ValidationError as error:
            book.refuse(
                index, *_faults(draft, field_problems(error.errors(include_url=False), fields).errors)
            )
        except ApiError as error:
            book.refuse(index, *_faults(draft, error.errors))
        if index not in book.problems:
            given = frozenset(_GIVEN[name] for name in fields if name in _GIVEN)
            wanted[index] = Wanted(draft, case, given, reading.whole)
    found = repeats(list(wanted.values()))
    for position, index in enumerate(list(wanted)):
        if position in found:
            book.refuse(index, found[position])
    for index, one in wanted.items():
        if index not in book.problems:
            book.warnings += one.draft.warnings
    return wanted


def _faults(draft: CaseDraft, errors: Sequence[FieldProblem]) -> Iterator[ImportProblem]:
    """Say what is wrong once a place: what reading said of a cell already is not said again.

    Nor is it said that a whole field is missing, which it is because it could not be read.
    """
    said = {(one.sheet, one.cell, one.path) for one in draft.problems}
    for error in errors:
        if said and error.path in _GIVEN and error.path not in draft.fields:
            continue
        found = draft.at(error.path, error.message)
        if (found.sheet, found.cell, found.path) not in said:
            yield found


def _note(book: _Book, index: int, one: Wanted, found: Findings) -> None:
    book.refuse(index, *(one.draft.at(problem.path, problem.message) for problem in found.problems))
    if not found.problems:
        book.warnings += [one.draft.at(warning.path, warning.message) for warning in found.warnings]


async def _known_as(unit: Unit, integration_id: UUID, wanted: Sequence[Wanted]) -> Sequence[CaseRecord]:
    return await cases.known_as(
        unit,
        integration_id,
        refs={one.case.ref for one in wanted if one.case.ref is not None},
        names={one.case.name for one in wanted},
    )


def _planned(
    wanted: Sequence[Wanted],
    known: Sequence[CaseRecord],
    caller: Caller,
    integration_id: UUID,
    *,
    now: datetime,
    usual: Usual | None,
) -> _Plan:
    created: list[CaseRecord] = []
    updated: list[CaseRecord] = []
    warnings: list[ImportProblem] = []
    for one, stored in zip(wanted, matched(wanted, known), strict=True):
        case, warning = merged(one, stored, usual)
        record = new_record(case, account_id=caller.account_id, integration_id=integration_id, now=now)
        if warning is not None:
            warnings.append(warning)
        if stored is None:
            created.append(record)
        elif (result := rewritten(stored, record)) is not stored:
            updated.append(result)
    return _Plan(created, updated, warnings)


async def _write(unit: Unit, plan: _Plan) -> None:
    for start in range(0, len(plan.updated), _WRITTEN_AT_ONCE):
        await cases.change(unit, plan.updated[start : start + _WRITTEN_AT_ONCE])
    for start in range(0, len(plan.created), _WRITTEN_AT_ONCE):
        await cases.create(unit, plan.created[start : start + _WRITTEN_AT_ONCE])


def _outcome(reading: Reading, book: _Book, plan: _Plan, *, dry_run: bool) -> ImportOutcome:
    total = len(reading.drafts)
    created, updated = len(plan.created), len(plan.updated)
    skipped = total - created - updated
    return ImportOutcome(
        created=created,
        updated=updated,
        skipped=skipped,
        total=total,
        unchanged=skipped - len(book.problems),
        dry_run=dry_run,
        problems=_bounded([one for index in sorted(book.problems) for one in book.problems[index]]),
        warnings=_bounded([*book.warnings, *plan.warnings]),
    )


def _bounded(said: Sequence[ImportProblem]) -> tuple[ImportProblem, ...]:
    if len(said) <= _MOST_SAID:
        return tuple(said)
    more = len(said) - _MOST_SAID
    return (*said[:_MOST_SAID], ImportProblem(message=f"and {more:,} more, which are not listed"))
