"""Cases from files: read, checked, matched with what is stored, and written all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import ApiError, bad_request, conflict, too_large
from proctor_casefiles.drafts import FileRefused, Reading
from proctor_casefiles.words import trimmed
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.imports import ImportOutcome
from proctor_store.conflicts import Duplicate
from proctor_store.repositories import cases
from proctor_store.repositories.cases import CaseIdentity
from proctor_store.session import Database

from .case_rows import case_fields, new_record
from .import_book import Book, decided, note, outcome, valid
from .import_plan import Settled, Usual, Wanted, matched, unclaimed
from .integrations import integration_of
from .validation import Bot, CaseChecks, bot_of

if TYPE_CHECKING:
    from proctor_casefiles.categories import CategoryTable

__all__ = ["Imports", "refused"]

_READ_AT_ONCE = 1
_CHECKED_AT_ONCE = 200
_WRITTEN_AT_ONCE = 1_000
_LANGUAGE = "uk"
_SETTLED_AT_ONCE = 1_000
_ATTEMPTS = 3


class _Overtaken(Exception):
    """Another writer changed the integration's cases while these were looked at."""


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
            description = trimmed(case.rubric or "")
            return table.assertions(
                category=case.category, name=case.name, description=description, language=language
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
        first = Book(warnings=list(reading.warnings))
        new = partial(
            new_record, account_id=caller.account_id, integration_id=integration_id, now=self._clock()
        )
        wanted = await asyncio.to_thread(valid, reading, first, new)
        for _ in range(_ATTEMPTS):
            book = first.copy()
            async with self._database.reading() as unit:
                known = await cases.identities(unit, integration_id)
            await self._settle(wanted, known, book, bot=bot, usual=usual)
            try:
                if not dry_run and (book.created or book.updated):
                    await self._write(caller, integration_id, known, book)
            except (_Overtaken, Duplicate):
                continue
            return outcome(reading, book, dry_run=dry_run)
        message = "other writers keep changing the cases of this integration; import the file again"
        raise conflict(message, field="integrationId", code="overtaken")

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

    async def _settle(
        self,
        wanted: Mapping[int, Wanted],
        known: Sequence[CaseIdentity],
        book: Book,
        *,
        bot: Bot,
        usual: Usual | None,
    ) -> None:
        """Decide what becomes of each case; part by part, so that little is held and others get a turn."""
        account, integration = bot.integration.account_id, bot.integration.id
        candidates = unclaimed(list(wanted.values()), known)
        async with self._database.reading() as unit:
            stored = await cases.by_ids(unit, account, integration, list(candidates))
        inputs = {case_id: record.input for case_id, record in stored.items()}
        matches = await asyncio.to_thread(matched, list(wanted.values()), known, inputs)
        going = list(zip(wanted.items(), matches, strict=True))
        for start in range(0, len(going), _SETTLED_AT_ONCE):
            part = going[start : start + _SETTLED_AT_ONCE]
            ids = [case_id for _, case_id in part if case_id is not None]
            async with self._database.reading() as unit:
                stored = await cases.by_ids(unit, account, integration, ids)
            await self._examine(await asyncio.to_thread(decided, part, stored, book, usual), book, bot)

    async def _examine(self, going: Sequence[tuple[int, Wanted, Settled]], book: Book, bot: Bot) -> None:
        """Check the cases that would be written, as they would be."""
        for start in range(0, len(going), _CHECKED_AT_ONCE):
            part = going[start : start + _CHECKED_AT_ONCE]
            whole = [case_fields(one.record) for _, _, one in part if one.record is not None]
            findings = await self._checks.examine(whole, bot)
            for (index, one, becomes), found in zip(part, findings, strict=True):
                note(book, index, one, found)
                if index not in book.problems and becomes.record is not None:
                    (book.created if becomes.new else book.updated).append(becomes.record)

    async def _write(
        self, caller: Caller, integration_id: UUID, known: Sequence[CaseIdentity], book: Book
    ) -> None:
        async with self._database.transaction() as unit:
            # The lock makes two imports of one integration take turns instead of colliding.
            await integration_of(unit, caller, integration_id, lock=True)
            if await cases.identities(unit, integration_id) != known:
                raise _Overtaken
            for start in range(0, len(book.updated), _WRITTEN_AT_ONCE):
                await cases.change(unit, book.updated[start : start + _WRITTEN_AT_ONCE])
            for start in range(0, len(book.created), _WRITTEN_AT_ONCE):
                await cases.create(unit, book.created[start : start + _WRITTEN_AT_ONCE])


def refused(error: FileRefused) -> ApiError:
    """Put the refusal of a whole file as an answer."""
    if error.too_large:
        return too_large("file", error.message)
    return bad_request(
        [FieldProblem(path="file", message=error.message, code=error.code)],
        detail=error.message,
        code=error.code,
    )
