"""Imports of cases over REST, whatever the file was."""

from __future__ import annotations

from proctor_contracts.base import Wire

__all__ = ["ImportNote", "ImportOutcome"]


class ImportNote(Wire):
    """Something to say of one place in the file: a cell such as C7, a row, or a line."""

    sheet: str
    cell: str
    message: str


class ImportOutcome(Wire):
    """What an import did, or with `dry_run` would do: `created` + `updated` + `skipped` = `total` rows.

    Skipped are the rows that changed nothing (`unchanged` of them) and those with `problems`. `warnings` are
    about rows that were taken.
    """

    created: int
    updated: int
    skipped: int
    total: int
    unchanged: int
    dry_run: bool
    problems: tuple[ImportNote, ...] = ()
    warnings: tuple[ImportNote, ...] = ()
