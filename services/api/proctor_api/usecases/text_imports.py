"""Cases from text files: golden datasets, configurations of promptfoo, conversations, lists of cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import UUID

from proctor_api.auth import Caller
from proctor_casefiles.drafts import FileRefused, Reading
from proctor_casefiles.golden import read_golden
from proctor_contracts.schemas.imports import CaseFormat, GoldenImport, ImportOutcome

from .import_plan import Usual
from .imports import Imports, refused

__all__ = ["TextImports"]


class TextImports:
    """Reads text files of cases, and leaves the writing to the one importer."""

    def __init__(self, *, imports: Imports) -> None:
        self._imports = imports
        self._readers = asyncio.Semaphore(1)

    async def file(
        self,
        caller: Caller,
        integration_id: UUID,
        data: bytes,
        *,
        format_: CaseFormat,
        dry_run: bool = False,
    ) -> ImportOutcome:
        """Import a text file, or a workbook without options of its own.

        Raises:
            ApiError: 400 for what is no such file, 404, 409.
        """
        if format_ is CaseFormat.XLSX:
            return await self._imports.workbook(caller, integration_id, data, dry_run=dry_run)

        def read() -> tuple[Reading, Usual | None]:
            from proctor_casefiles.texts import read_text_file  # noqa: PLC0415 - most commands import nothing
            from proctor_casefiles.transcripts.reading import recorded_checks  # noqa: PLC0415 - as above

            return read_text_file(data, format_), recorded_checks if format_ is CaseFormat.JSONL else None

        return await self._apply(caller, integration_id, read, dry_run=dry_run)

    async def golden(self, caller: Caller, body: GoldenImport) -> ImportOutcome:
        """Import a golden dataset; entries with a problem are named by path and left out.

        Raises:
            ApiError: 404, 409.
        """

        def read() -> tuple[Reading, Usual | None]:
            return read_golden(list(body.cases)), None

        return await self._apply(caller, body.integration_id, read, dry_run=body.dry_run)

    async def _apply(
        self,
        caller: Caller,
        integration_id: UUID,
        read: Callable[[], tuple[Reading, Usual | None]],
        *,
        dry_run: bool,
    ) -> ImportOutcome:
        async with self._readers:
            try:
                reading, usual = await asyncio.to_thread(read)
            except FileRefused as error:
                raise refused(error) from error
            return await self._imports.apply(caller, integration_id, reading, dry_run=dry_run, usual=usual)
