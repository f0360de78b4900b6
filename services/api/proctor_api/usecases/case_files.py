"""An integration's cases as a file that can be imported again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from uuid import UUID

from proctor_api.auth import Caller
from proctor_contracts.cases import CaseFields
from proctor_store.repositories import cases
from proctor_store.repositories.cases import CaseQuery
from proctor_store.session import Database

from .case_rows import case_fields
from .integrations import integration_of

__all__ = ["CaseFile", "CaseFiles"]

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_READ_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases."""

    filename: str
    media_type: str
    body: bytes


class CaseFiles:
    """Writes cases out."""

    def __init__(self, *, database: Database) -> None:
        self._database = database
        self._writers = asyncio.Semaphore(1)

    async def workbook(
        self, caller: Caller, query: CaseQuery, *, integration_id: UUID, language: str = "uk"
    ) -> CaseFile:
        """Write the cases that a query takes as .xlsx, oldest first; importing it again changes nothing.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            integration = await integration_of(unit, caller, integration_id)
            wanted = await cases.matching(unit, caller.account_id, query)
            found: list[CaseFields] = []
            for start in range(0, len(wanted), _READ_AT_ONCE):
                part = wanted[start : start + _READ_AT_ONCE]
                records = await cases.by_ids(unit, caller.account_id, integration_id, part)
                found += [case_fields(records[case_id]) for case_id in part if case_id in records]

        def write() -> bytes:
            from proctor_casefiles.xlsx.writing import write_cases  # noqa: PLC0415 - openpyxl takes its time

            return write_cases(found, language=language)

        async with self._writers:
            body = await asyncio.to_thread(write)
        return CaseFile(f"cases-{integration.id}.xlsx", XLSX, body)
