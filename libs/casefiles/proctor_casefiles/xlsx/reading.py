"""From the bytes of a workbook to drafts of cases."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from proctor_casefiles.categories import CategoryTable
from proctor_casefiles.drafts import CaseDraft, FileRefused, Reading
from proctor_casefiles.words import lookalike, trimmed
from proctor_contracts.schemas.imports import ImportProblem

from .archive import Archive
from .cells import Row, read_rows
from .header import Header, find_header, known_columns, repeats_header
from .limits import LIMITS, Limits
from .package import Package, SheetPart, open_package
from .rows import RowReader
from .scanning import SheetScan, scan_sheet

__all__ = ["read_cases"]

_TURNS = threading.Lock()


def read_cases(
    data: bytes,
    *,
    table: CategoryTable,
    language: str = "uk",
    sheet: str | None = None,
    limits: Limits = LIMITS,
) -> Reading:
    """Read the first visible sheet that has the headers, or the one named `sheet`; hidden rows are data too.

    What is wrong in a row is in its draft. `language` is the one that the agent should speak.

    Raises:
        FileRefused: when the file is no workbook, is beyond a limit, or has no sheet with the headers.
    """
    package = open_package(Archive(data, limits=limits))
    # The library warns of what it leaves out, such as conditional formats; none of that is in a cell. What
    # silences it belongs to the whole process, so threads take turns.
    with _TURNS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _read(package, table=table, language=language, sheet=sheet, limits=limits)


def _read(
    package: Package, *, table: CategoryTable, language: str, sheet: str | None, limits: Limits
) -> Reading:
    chosen, found, header = _chosen(package, limits, named=sheet)
    reader = RowReader(header, sheet=chosen.name, categories=table, language=language)
    drafts: list[CaseDraft] = []
    notes = [*_left_out(package, chosen, header)]
    characters = 0
    for row in read_rows(package, chosen, found):
        if row.number <= header.row:
            continue
        # One text in a file of some kilobytes may be that of every cell.
        characters += sum(len(cell.text) for cell in row.cells if cell.text)
        if characters > limits.texts:
            message = f"the cases hold more than {limits.texts:,} characters; import them in parts"
            raise FileRefused("too_large", message, too_large=True)
        if row.heading:
            message = f"row {row.number} is one text over several columns: a heading, not a case"
            notes.append(ImportProblem(sheet=chosen.name, cell=row.address(0), message=message))
        elif repeats_header(row, header):
            message = f"row {row.number} repeats the header: no case"
            notes.append(ImportProblem(sheet=chosen.name, cell=row.address(0), message=message))
        else:
            drafts.append(reader.draft(row))
    return Reading(drafts=_told_apart(drafts), warnings=tuple(notes))


def _chosen(package: Package, limits: Limits, *, named: str | None) -> tuple[SheetPart, SheetScan, Header]:
    almost: FileRefused | None = None
    visible = [sheet for sheet in package.sheets if sheet.visible][: limits.sheets]
    if named is not None:
        visible = [sheet for sheet in package.sheets if trimmed(sheet.name) == trimmed(named)]
        if not visible:
            names = ", ".join(repr(sheet.name) for sheet in package.sheets if sheet.visible)
            raise FileRefused("no_such_sheet", f"there is no sheet {named!r}; the workbook has {names}")
    for sheet in visible:
        found = scan_sheet(package.archive, sheet.path)
        try:
            header = find_header(read_rows(package, sheet, found), sheet=sheet.name)
        except FileRefused as refused:
            if refused.code not in {"missing_columns", "ambiguous_headers"}:
                raise
            almost = almost or refused
            continue
        if header is not None:
            return sheet, found, header
    if almost is not None:
        raise almost
    names = ", ".join(
        f"«{known_columns()[field][0]}»" for field in ("ref", "category", "name", "rubric", "message")
    )
    searched = ", ".join(repr(sheet.name) for sheet in visible) or "none is visible"
    raise FileRefused(
        "no_headers",
        f"no sheet has a row of headers such as {names} (English and Russian do too); searched: {searched}",
    )


def _left_out(package: Package, chosen: SheetPart, header: Header) -> Iterator[ImportProblem]:
    for column, name in header.unused:
        cell = Row(header.row, ()).address(column)
        yield ImportProblem(sheet=chosen.name, cell=cell, message=f"the column {name[:100]!r} is not used")
    others = [sheet.name for sheet in package.sheets if sheet.visible and sheet is not chosen]
    if others:
        said = ", ".join(repr(name) for name in others)
        yield ImportProblem(sheet=chosen.name, message=f"only this sheet was read; left out: {said}")


def _told_apart(drafts: Sequence[CaseDraft]) -> list[CaseDraft]:
    """Refuse what repeats a case of the file (by ref, else by name and input), and warn of look-alikes."""
    seen: dict[object, CaseDraft] = {}
    alike: dict[str, CaseDraft] = {}
    result: list[CaseDraft] = []
    for draft in drafts:
        field = "ref" if draft.fields.get("ref") else "name"
        value = draft.fields.get(field)
        same = value if field == "ref" else (value, json.dumps(draft.fields.get("input"), sort_keys=True))
        first = seen.setdefault(same, draft) if value else draft
        if first is not draft:
            rows = f"{_row(first)} and {_row(draft)}"
            message = f"{rows} have the same {_LABELS[field]} {value!r}; the first one counts"
            result.append(replace(draft, problems=(*draft.problems, draft.at(field, message))))
        elif value and field == "ref" and (other := alike.setdefault(lookalike(value), draft)) is not draft:
            message = f"{value!r} looks like {other.fields['ref']!r} in {_row(other)}, but is another ID"
            result.append(replace(draft, warnings=(*draft.warnings, draft.at(field, message))))
        else:
            result.append(draft)
    return result


_LABELS = {"ref": "ID", "name": "name and message, and no ID:"}


def _row(draft: CaseDraft) -> str:
    return f"row {draft.place.lstrip('ABCDEFGHIJKLMNOPQRSTUVWXYZ')}"
