"""Cases as a workbook that people can edit; reading it back gives the very same cases.

Every text is written as text, so that nothing a user typed is ever run as a formula, and marked as such where
a spreadsheet program would take it for one when its cell is edited.
"""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter

from proctor_casefiles.words import INVISIBLE, label, trimmed
from proctor_contracts.cases import CaseFields, ScriptedSingle

from .escapes import LONGEST_CELL, cell_length, escaped, pieces
from .header import JSON_FIELDS, known_columns

__all__ = ["LANGUAGES", "write_cases"]

LANGUAGES = ("uk", "en", "ru")
_SHOWN = Path(__file__).parents[1] / "data" / "shown.json"
_ONE_CELL = (
    "ref", "category", "name", "rubric", "priority", "message",
    "weight", "threshold", "tags", "isActive", "critical", "retryPolicy",
)  # fmt: skip
_LONG = ("rubric", *JSON_FIELDS)
_WIDTHS = {"name": 40, "rubric": 50, "message": 50, "category": 20, "input": 30, "assertions": 50}
_WRAPPED = frozenset({"name", "rubric", "message"})
_FORMULA_STARTS = frozenset("=+-@")
_UNSEEN = re.compile(rf"[\s{INVISIBLE}]")

Content = str | int | None


def write_cases(cases: Iterable[CaseFields], *, language: str = "uk") -> bytes:
    """Write cases as .xlsx, with headers in Ukrainian, English or Russian (`uk`, `en`, `ru`)."""
    shown = _shown()[language]
    rows = [_row(case, shown) for case in cases]
    columns = _columns(rows)
    book = Workbook(write_only=True)
    sheet = book.create_sheet(shown["sheet"])
    sheet.freeze_panes = "A2"
    for index, (field, _) in enumerate(columns, start=1):
        sheet.column_dimensions[get_column_letter(index)].width = _WIDTHS.get(field, 14)
    number = LANGUAGES.index(language)
    bold, wrapped = Font(bold=True), Alignment(wrap_text=True, vertical="top")
    header = [_cell(sheet, _title(known_columns()[field][number], part)) for field, part in columns]
    for cell in header:
        cell.font = bold
    sheet.append(header)
    for row in rows:
        cells = []
        for field, part in columns:
            contents = row[field]
            cell = _cell(sheet, contents[part] if part < len(contents) else None)
            if field in _WRAPPED:
                cell.alignment = wrapped
            cells.append(cell)
        sheet.append(cells)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


@cache
def _shown() -> Mapping[str, Mapping[str, str]]:
    document: dict[str, dict[str, str]] = json.loads(_SHOWN.read_text(encoding="utf-8"))
    return document


def _columns(rows: Sequence[Mapping[str, Sequence[Content]]]) -> list[tuple[str, int]]:
    """List the columns; a field that is longer than a cell somewhere goes on in further ones."""
    found: list[tuple[str, int]] = []
    for field in (*_ONE_CELL, *JSON_FIELDS):
        most = max((len(row.get(field, ())) for row in rows), default=0)
        found.extend((field, part) for part in range(max(most, 1)))
    return found


def _title(name: str, part: int) -> str:
    return name if part == 0 else f"{name} {part + 1}"


def _row(case: CaseFields, shown: Mapping[str, str]) -> dict[str, list[Content]]:
    plain = case.input.message if isinstance(case.input, ScriptedSingle) else None
    if plain is not None and cell_length(_visible(plain)) > LONGEST_CELL:
        plain = None
    texts: dict[str, str | None] = {
        "ref": case.ref and _exact(case.ref),
        "category": _exact(case.category),
        "name": _exact_ends(case.name),
        "rubric": case.rubric and _visible(case.rubric),
        "priority": shown[case.priority.value],
        "message": plain and _visible(plain),
        "tags": _tags(case.tags),
        "isActive": shown[str(case.is_active).lower()],
        "critical": shown[str(case.critical).lower()],
        "retryPolicy": None if case.retry_policy is None else case.retry_policy.value,
        "input": None if plain is not None else _json(case.input),
        "assertions": _json(case.assertions),
        "reference": None if case.reference is None else _json(case.reference),
        "budget": None if case.budget is None else _json(case.budget),
    }
    row: dict[str, list[Content]] = {"weight": [case.weight], "threshold": [case.threshold]}
    for field, text in texts.items():
        row[field] = list(pieces(text)) if text and field in _LONG else [text]
    return row


def _json(value: Any) -> str:
    """Write what its author said; reading it makes the same value, with the same defaults."""
    if isinstance(value, tuple):
        return escaped(json.dumps([_said(item) for item in value], ensure_ascii=False))
    return escaped(json.dumps(_said(value), ensure_ascii=False))


def _said(value: Any) -> dict[str, Any]:
    said: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    kind = getattr(value, "kind", None)
    return said if kind is None else {"kind": kind} | said


def _tags(tags: Sequence[str]) -> str | None:
    if not tags:
        return None
    plain = all(tag == trimmed(tag) and not set(tag) & set(",;\n") for tag in tags) and len(set(tags)) == len(
        tags
    )
    text = ", ".join(tags)
    return _visible(text if plain and not text.startswith("[") else json.dumps(tags, ensure_ascii=False))


def _visible(text: str) -> str:
    """Escape a text; one of nothing but white space is escaped whole, so that its cell is not empty."""
    return escaped(text) if trimmed(text) else "".join(f"_x{ord(character):04X}_" for character in text)


def _exact(text: str) -> str:
    """Escape a text in which reading would take away what looks like nothing."""
    if label(text) == text:
        return _exact_ends(text)
    return _UNSEEN.sub(lambda found: f"_x{ord(found[0]):04X}_", escaped(text))


def _exact_ends(text: str) -> str:
    """Escape a text whose invisible ends would be taken for what slipped into a cell."""
    inner = text.strip(INVISIBLE)
    if inner == text or not inner:
        return _visible(text)
    start = text.index(inner)
    return f"{_visible(text[:start])}{escaped(inner)}{_visible(text[start + len(inner) :])}"


def _cell(sheet: Any, content: Content) -> Any:
    cell = WriteOnlyCell(sheet, value=content)
    if isinstance(content, str):
        cell.data_type = "s"  # never a formula, an error or a date, whatever it looks like
        cell.quotePrefix = _looks_like_formula(content)
    return cell


def _looks_like_formula(text: str) -> bool:
    rest = text.lstrip(f" \t\r\n\u00a0{INVISIBLE}")
    return bool(rest) and unicodedata.normalize("NFKC", rest[0])[:1] in _FORMULA_STARTS
