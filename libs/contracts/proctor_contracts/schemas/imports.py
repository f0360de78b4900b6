"""What an import of a file did, or would do."""

from __future__ import annotations

from proctor_contracts.base import Wire

__all__ = ["ImportOutcome", "ImportProblem"]


class ImportProblem(Wire):
    """What is wrong at one place of a file; without a `cell` it is about the sheet, without both the file.

    `sheet` and `cell` (`C5`) belong to spreadsheets; `path` is the place in other files (`12.expected.tools`).
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
