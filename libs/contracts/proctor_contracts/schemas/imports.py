"""What an import of a file did, or would do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from proctor_contracts.base import Json, Strict, Wire

__all__ = ["CaseFormat", "GoldenImport", "ImportOutcome", "ImportProblem"]


class CaseFormat(StrEnum):
    """What a file of cases is: a workbook, or text in one of these forms.

    `golden` is a golden dataset, `promptfoo` a configuration of promptfoo, `jsonl` one conversation a line in
    OpenAI's messages form, `cases` a list of cases of the REST shape in JSON or YAML.
    """

    XLSX = "xlsx"
    GOLDEN = "golden"
    PROMPTFOO = "promptfoo"
    JSONL = "jsonl"
    CASES = "cases"


class ImportProblem(Wire):
    """What is wrong at one place of a file; without a `cell` it is about the sheet, without both the file.

    `sheet` and `cell` (`C5`) belong to spreadsheets; `path` is the place in other files
    (`12.expected.tools`).
    """

    sheet: str | None = None
    cell: str | None = None
    path: str | None = None
    message: str


class ImportOutcome(Wire):
    """What an import did; with `dry_run`, what it would have done.

    `created + updated + skipped = total`. Skipped are the cases that had a problem and those that are there
    already just so; `unchanged` counts the latter. Warnings are about cases that were taken.
    """

    created: int
    updated: int
    skipped: int
    total: int
    unchanged: int = 0
    dry_run: bool = False
    problems: tuple[ImportProblem, ...] = ()
    warnings: tuple[ImportProblem, ...] = ()


class GoldenImport(Strict):
    """A golden dataset for an integration: `[{id, input, expected: {department, tools, …}}]`.

    The dataset may also be sent as it is, with `integrationId` and `dryRun` in the query.
    """

    integration_id: UUID
    dry_run: bool = False
    cases: Annotated[tuple[Json, ...], Field(min_length=1)]
