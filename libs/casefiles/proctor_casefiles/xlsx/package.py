"""Which parts of a workbook hold what: its sheets in their order, strings and styles."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from .archive import CONTENT_TYPES, Archive, damaged, macros, not_a_workbook
from .formats import STYLES, plain_styles
from .scanning import MAIN, Start, scan, scan_strings

__all__ = ["Package", "SheetPart", "open_package"]

_SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml."
_WORKBOOKS = (f"{_SPREADSHEET}sheet.main+xml", f"{_SPREADSHEET}template.main+xml")
_STRINGS = f"{_SPREADSHEET}sharedStrings+xml"
_STRICT = "http://purl.oclc.org/ooxml/"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_BOOK = "xl/workbook.xml"
_WORKSHEET = "/worksheet"
_OTHERS = {
    "wordprocessingml": "a Word document",
    "presentationml": "a presentation",
    "ms-excel.sheet.binary": "a binary workbook (.xlsb)",
}


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A worksheet of the workbook."""

    name: str
    visible: bool
    path: str


@dataclass(frozen=True, slots=True)
class Package:
    """The sheets, the parts that they share, and whether days count from 1904."""

    archive: Archive
    sheets: Sequence[SheetPart]
    strings: str | None
    styles: str | None
    from_1904: bool

    def alone(self, sheet: SheetPart) -> io.BytesIO:
        """Make a workbook that has this sheet and nothing else."""
        keep = {sheet.path} | ({self.strings} if self.strings else set())
        strings = (
            f'<Override PartName="/{escape(self.strings)}" ContentType="{_STRINGS}"/>' if self.strings else ""
        )
        workbook = f'<workbookPr date1904="{int(self.from_1904)}"/>'
        styles = {} if self.styles is None else {STYLES: self.styles}
        return self.archive.rewritten(
            keep,
            styles
            | {
                CONTENT_TYPES: (
                    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
                    f'<Override PartName="/{_BOOK}" ContentType="{_WORKBOOKS[0]}"/>{strings}</Types>'
                ),
                _BOOK: (
                    f'<workbook xmlns="{MAIN}" xmlns:r="{_RELATIONS}">{workbook}'
                    '<sheets><sheet name="cases" sheetId="1" r:id="r1"/></sheets></workbook>'
                ),
                _relations_of(_BOOK): (
                    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
                    f'<Relationship Id="r1" Type="{_RELATIONS}{_WORKSHEET}" Target="/{escape(sheet.path)}"/>'
                    "</Relationships>"
                ),
            },
        )


def open_package(archive: Archive) -> Package:
    """Find the parts of a workbook and hold those that every sheet needs to their limits.

    Raises:
        FileRefused: when it is none, has macros, is damaged or beyond a limit.
    """
    workbook, strings = _content_types(archive)
    sheets, from_1904 = _workbook(archive, workbook, _relations(archive, workbook))
    if strings not in archive.names:
        strings = None
    if strings is not None:
        scan_strings(archive, strings)
    styles = plain_styles(archive) if STYLES in archive.names else None
    return Package(archive, sheets, strings, styles, from_1904)


def _bounded(archive: Archive, name: str, start: Start) -> None:
    limits = archive.limits
    scan(archive, name, start, most_bytes=limits.part_bytes, most_elements=limits.part_elements)


def _content_types(archive: Archive) -> tuple[str, str | None]:
    workbooks: list[str] = []
    strings: list[str] = []
    other = "a zip file without a workbook in it"

    def start(_name: str, attributes: dict[str, str]) -> None:
        nonlocal other
        kind, part = attributes.get("ContentType", ""), attributes.get("PartName", "").lstrip("/")
        if "macroEnabled" in kind and "binary" not in kind:
            raise macros()
        if kind in _WORKBOOKS:
            workbooks.append(part or _BOOK)
        elif kind == _STRINGS and part:
            strings.append(part)
        other = next((name for word, name in _OTHERS.items() if word in kind), other)

    _bounded(archive, CONTENT_TYPES, start)
    if not workbooks:
        raise not_a_workbook(other)
    # A Default names the type for all parts of an extension, an Override this very part: the latter is exact.
    found = next((part for part in workbooks if part in archive.names), None)
    if found is None:
        raise damaged("the workbook itself is missing")
    return found, strings[0] if strings else None


def _relations_of(part: str) -> str:
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def _relations(archive: Archive, workbook: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    folder = posixpath.dirname(workbook)

    def start(_name: str, attributes: dict[str, str]) -> None:
        if "Id" in attributes and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            path = (
                target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            )
            found[attributes["Id"]] = (path, attributes.get("Type", ""))

    _bounded(archive, _relations_of(workbook), start)
    return found


def _workbook(
    archive: Archive, workbook: str, relations: dict[str, tuple[str, str]]
) -> tuple[list[SheetPart], bool]:
    found: list[SheetPart] = []
    from_1904 = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal from_1904
        if name.startswith(_STRICT):
            raise not_a_workbook("a “Strict Open XML” workbook")
        if name == f"{MAIN} workbookPr":
            from_1904 = attributes.get("date1904", "0") in {"1", "true"}
        elif name == f"{MAIN} sheet":
            path, kind = relations.get(attributes.get(f"{_RELATIONS} id", ""), ("", ""))
            if kind.endswith(_WORKSHEET) and path in archive.names:
                visible = attributes.get("state", "visible") == "visible"
                found.append(SheetPart(attributes.get("name", ""), visible, path))

    _bounded(archive, workbook, start)
    if not found:
        raise damaged("it has no sheet")
    return found, from_1904
