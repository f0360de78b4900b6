"""A look over the XML of a workbook before anything is built from it: limits, and what openpyxl leaves out.

The scan keeps nothing but counts, so that a part made to hurt costs no more than its unpacked bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from proctor_casefiles.drafts import FileRefused

from .archive import Archive, damaged

__all__ = ["MAIN", "Area", "SheetScan", "Start", "scan", "scan_sheet", "scan_strings"]

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
_ROW, _CELL, _MERGE = f"{MAIN} row", f"{MAIN} c", f"{MAIN} mergeCell"
_VALUE, _INLINE, _FORMULA = f"{MAIN} v", f"{MAIN} is", f"{MAIN} f"
_STRING = f"{MAIN} si"
_AREA = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})(?::\$?([A-Z]{1,3})\$?([0-9]{1,7}))?")
_SILENT_CHUNKS = 16

Start = Callable[[str, dict[str, str]], None]


@dataclass(frozen=True, slots=True)
class Area:
    """A merged range: first and last row and column, from 1."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class SheetScan:
    """What one sheet holds: `last_row` and `last_column` with content, formulas and merged ranges."""

    rows: int = 0
    last_row: int = 0
    last_column: int = 0
    formulas: set[tuple[int, int]] = field(default_factory=set)
    merges: list[Area] = field(default_factory=list)


def scan(archive: Archive, name: str, start: Start, *, most_bytes: int, most_elements: int) -> None:
    """Parse one part, calling `start` with the name (`namespace local`) and attributes of each element.

    Raises:
        FileRefused: for a part that is damaged, beyond a limit, or declares entities.
    """
    _Scan(archive, name, start, most_elements).run(archive.chunks(name, most=most_bytes))


def scan_strings(archive: Archive, name: str) -> None:
    """Hold the shared strings to their limits."""
    limits = archive.limits
    scan(
        archive,
        name,
        lambda _name, _attributes: None,
        most_bytes=limits.strings_bytes,
        most_elements=limits.strings_elements,
    )


def scan_sheet(archive: Archive, name: str) -> SheetScan:
    """Hold a sheet to its limits, and find out where content, formulas and merged ranges are."""
    seen = _SheetHandler(archive)
    limits = archive.limits
    scan(archive, name, seen.start, most_bytes=limits.sheet_bytes, most_elements=limits.sheet_elements)
    return seen.found


class _Scan:
    def __init__(self, archive: Archive, name: str, start: Start, most_elements: int) -> None:
        self._name = name
        self._most = most_elements
        self._text_limit = archive.limits.text
        self._start = start
        self._events = 0
        self._elements = 0
        self._text = 0
        self._depth = 0
        self._deepest = archive.limits.depth
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._doctype
        self._parser.StartElementHandler = self._element
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def run(self, chunks: Iterator[bytes]) -> None:
        silent = 0
        try:
            for chunk in chunks:
                before = self._events
                self._parser.Parse(chunk, False)  # noqa: FBT003 - expat takes it by place
                silent = silent + 1 if self._events == before else 0
                if silent > _SILENT_CHUNKS:
                    raise damaged(f"{self._name} holds a single piece of over a megabyte")
            self._parser.Parse(b"", True)  # noqa: FBT003 - as above
        except expat.ExpatError as error:
            raise damaged(f"{self._name} is not valid XML at line {error.lineno}") from error

    def _doctype(self, *_: object) -> None:
        message = (
            "the workbook declares entities (a DTD), which no spreadsheet program writes; it is not read"
        )
        raise FileRefused("unsafe_xlsx", message)

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        self._events += 1
        self._elements += 1
        self._text = 0
        self._depth += 1
        if self._depth > self._deepest:
            raise damaged(f"{self._name} is nested deeper than {self._deepest} levels")
        if self._elements > self._most:
            message = (
                f"{self._name} has more than {self._most:,} elements; copy the cases into a new workbook"
            )
            raise FileRefused("too_large", message, too_large=True)
        self._start(name, attributes)

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _characters(self, text: str) -> None:
        self._events += 1
        self._text += len(text)
        if self._text > self._text_limit:
            message = f"a cell holds more than {self._text_limit:,} characters"
            raise FileRefused("too_large", message, too_large=True)


class _SheetHandler:
    """Follows rows and cells; where a file leaves out their addresses, they follow each other."""

    def __init__(self, archive: Archive) -> None:
        self.found = SheetScan()
        self._limits = archive.limits
        self._row = 0
        self._column = 0
        self._filled = 0
        self._written = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take note of one element."""
        if name == _CELL:
            self._cell(attributes)
        elif name in (_VALUE, _INLINE):
            self._content()
        elif name == _ROW:
            self._next_row(attributes)
        elif name == _FORMULA:
            self._content()
            self.found.formulas.add((self._row, self._column))
        elif name == _MERGE:
            self._merge(attributes)

    def _next_row(self, attributes: dict[str, str]) -> None:
        row = _number(attributes["r"]) if "r" in attributes else self._row + 1
        if not self._row < row <= LAST_ROW:
            raise damaged(f"row {row} comes after row {self._row}")
        self._written += 1
        if self._written > self._limits.row_elements:
            most = f"the sheet has more than {self._limits.row_elements:,} rows, most of them empty"
            message = f"{most}; copy the cases into a new workbook"
            raise FileRefused("too_large", message, too_large=True)
        self._row, self._column = row, 0

    def _cell(self, attributes: dict[str, str]) -> None:
        address = attributes.get("r")
        if address is None:
            column = self._column + 1
        else:
            letters = address.rstrip("0123456789")
            if address[len(letters) :] != str(self._row):
                raise damaged(f"cell {address[:20]} stands in row {self._row}")
            column = _column(letters)
        if not self._column < column <= LAST_COLUMN:
            raise damaged(f"a cell of row {self._row} is out of order")
        self._column = column

    def _content(self) -> None:
        found = self.found
        if self._row != self._filled:
            self._filled = self._row
            found.rows += 1
            found.last_row = self._row
            if found.rows > self._limits.rows:
                message = f"the sheet has more than {self._limits.rows:,} rows; import it in parts"
                raise FileRefused("too_large", message, too_large=True)
        if self._column > found.last_column:
            found.last_column = self._column
            if self._column > self._limits.columns:
                message = (
                    f"the sheet has text beyond column {self._limits.columns}; is this a sheet of cases?"
                )
                raise FileRefused("too_large", message, too_large=True)

    def _merge(self, attributes: dict[str, str]) -> None:
        found = _AREA.fullmatch(attributes.get("ref", ""))
        if found is None:
            raise damaged("a merged range has no address")
        left, top, right, bottom = found.groups()
        area = Area(int(top), _column(left), int(bottom or top), _column(right or left))
        self.found.merges.append(area)
        if len(self.found.merges) > self._limits.merges:
            message = f"the sheet has more than {self._limits.merges:,} merged ranges"
            raise FileRefused("too_large", message, too_large=True)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LAST_ROW))):
        raise damaged("a row has no number")
    return int(text)


def _column(letters: str) -> int:
    column = 0
    for letter in letters:
        if not "A" <= letter <= "Z":
            raise damaged("a cell has no address")
        column = column * 26 + ord(letter) - 64
        if column > LAST_COLUMN:
            raise damaged("a cell lies beyond the last column")
    return column
