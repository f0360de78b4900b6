"""The cells of one sheet as text, as its author sees them.

Numbers lose what only the file format knows (7.0 is 7), dates are written ISO, percentages with their sign.
A merged range has its text in every row of its first column. A formula counts by its last calculated value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter

from .archive import DAMAGED, damaged
from .package import Package, SheetPart
from .scanning import Area, SheetScan

__all__ = ["Cell", "Row", "read_rows"]

_EXACT = 10**15
_CHECKED_ROWS = 256
_NO_VALUE = (
    "is a formula without a stored value; open the file in a spreadsheet program and save it, "
    "or paste the value"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell as the file has it (see `escapes`), or None when it is empty.

    `problem` says why the content is not usable.
    """

    text: str | None = None
    problem: str | None = None


EMPTY = Cell()


@dataclass(frozen=True, slots=True)
class Row:
    """A row by its number in the sheet, from 1; `cells` begins with column A.

    `heading` marks a row that has one text, merged over several columns.
    """

    number: int
    cells: Sequence[Cell]
    heading: bool = False

    def __getitem__(self, column: int) -> Cell:
        """Take the cell of a column, counted from 0."""
        return self.cells[column] if column < len(self.cells) else EMPTY

    @property
    def blank(self) -> bool:
        """Whether nothing but white space is there."""
        return all(cell.problem is None and not (cell.text or "").strip() for cell in self.cells)

    def address(self, column: int) -> str:
        """Name a cell as spreadsheets do, as in C5."""
        return f"{get_column_letter(column + 1)}{self.number}"


def read_rows(package: Package, sheet: SheetPart, found: SheetScan) -> Iterator[Row]:
    """Read a sheet that was scanned, row by row; blank rows are left out.

    Raises:
        FileRefused: when it is damaged.
    """
    if not found.last_row:
        return
    pending = sorted(found.merges, key=lambda area: area.top, reverse=True)
    active: dict[int, tuple[Area, Cell]] = {}
    for number, values in _raw(package, sheet, rows=found.last_row, columns=found.last_column):
        cells = [
            _cell(raw, formula=(number, index) in found.formulas) for index, raw in enumerate(values, start=1)
        ]
        if not number % _CHECKED_ROWS:
            package.archive.check_time()
        blank = Row(number, cells).blank
        while pending and pending[-1].top <= number:
            area = pending.pop()
            if area.left <= len(cells):
                active[area.left] = (area, cells[area.left - 1])
        # What a range says of rows that have nothing else is no case.
        active = {left: one for left, one in active.items() if one[0].bottom >= number}
        for left, (_, cell) in active.items():
            cells[left - 1] = cell
        wide = any(area.right > area.left for area, _ in active.values())
        if not blank:
            yield Row(number, cells, heading=wide and sum(cell != EMPTY for cell in cells) == 1)


def _raw(
    package: Package, sheet: SheetPart, *, rows: int, columns: int
) -> Iterator[tuple[int, Sequence[Any]]]:
    try:
        book = load_workbook(package.alone(sheet), read_only=True, data_only=True, keep_links=False)
        with_cells = book.worksheets[0]
        with_cells.reset_dimensions()
        for number, values in enumerate(with_cells.iter_rows(max_row=rows, max_col=columns), start=1):
            yield number, values
            if number == rows:
                break  # what follows the cells, such as a million links, is not looked at
        book.close()
    except (*DAMAGED, SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise damaged(f"sheet {sheet.name!r} cannot be read") from error


def _cell(raw: Any, *, formula: bool) -> Cell:
    value = raw.value
    if raw.data_type == "e" and value is not None:
        return Cell(problem=f"holds the error {value}; correct the formula or type the text")
    if value is None:
        return Cell(problem=_NO_VALUE) if formula else EMPTY
    if isinstance(value, str):
        return Cell(value) if value else EMPTY
    return Cell(_shown(value, raw.number_format))


def _shown(value: Any, number_format: str | None) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return _number(value, number_format or "General")
        case datetime():
            midnight = value.time() == time()
            return value.date().isoformat() if midnight else value.isoformat(sep=" ", timespec="seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case _:
            return str(value)


def _number(value: float, number_format: str) -> str:
    if "%" in number_format:
        return f"{_plain(Decimal(repr(value)) * 100)}%"
    text = _plain(Decimal(repr(value)))
    if re.fullmatch(r"0+", number_format) and text.isdigit():
        return text.zfill(len(number_format))
    return text


def _plain(number: Decimal) -> str:
    """Write a number without an exponent and without zeros that mean nothing."""
    if not number.is_finite():
        return str(number)
    if abs(number) >= _EXACT * 1000:
        return str(number)
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
