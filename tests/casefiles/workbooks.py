"""Workbooks made by hand, part by part, so that each can be wrong in its own way."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from openpyxl.utils import get_column_letter

__all__ = ["HEADER", "MAIN", "Sheet", "cell", "row", "rows", "sheet_xml", "workbook"]

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
STRINGS = f"{SPREADSHEET}.sharedStrings+xml"
HEADER = ("ID", "Категорія", "Назва", "Опис", "Пріоритет", "Повідомлення")
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><numFmts count="1"><numFmt numFmtId="200" formatCode="000"/></numFmts>'
    "<fonts><font/></fonts><fills><fill/></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>"
    '<cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="9"/><xf numFmtId="200"/><xf numFmtId="22"/></cellXfs>'
    "</styleSheet>"
)
"""Styles by number: 1 a date, 2 a percentage, 3 with leading zeros, 4 a date with time."""

Sheet = tuple[str, str, str]
"""Name, state (`visible`, `hidden`, `veryHidden`) and XML."""


def cell(address: str, value: object, *, kind: str = "", style: int = 0) -> str:
    """One cell: a text, a number, a ready-made `<…>` content, or nothing."""
    attributes = f' r="{address}"' + (f' s="{style}"' if style else "")
    if value is None:
        return f"<c{attributes}/>"
    if isinstance(value, str) and not kind:
        return f'<c{attributes} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    content = value if isinstance(value, str) and value.startswith("<") else f"<v>{value}</v>"
    return f"<c{attributes}" + (f' t="{kind}"' if kind else "") + f">{content}</c>"


def row(number: int, values: Sequence[object]) -> str:
    """A row from column A on; a value that is already a `<c …>` is left as it is."""
    cells = [
        value
        if isinstance(value, str) and value.startswith("<c ")
        else cell(f"{get_column_letter(index)}{number}", value)
        for index, value in enumerate(values, start=1)
    ]
    return f'<row r="{number}">{"".join(cells)}</row>'


def rows(*all_values: Sequence[object]) -> str:
    """Rows from the first on."""
    return "".join(row(number, values) for number, values in enumerate(all_values, start=1))


def sheet_xml(content: str, *, after: str = "", dimension: str = "") -> str:
    """A worksheet around rows."""
    return f'<worksheet xmlns="{MAIN}">{dimension}<sheetData>{content}</sheetData>{after}</worksheet>'


def workbook(
    *sheets: Sheet | str,
    parts: Mapping[str, str | bytes] | None = None,
    main_type: str = f"{SPREADSHEET}.sheet.main+xml",
    properties: str = "",
) -> bytes:
    """Zip a workbook of these sheets (a bare text is the rows of a visible one) and of further parts."""
    given = [one if isinstance(one, tuple) else ("Кейси", "visible", sheet_xml(one)) for one in sheets]
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": (
            f'<Types xmlns="{PACKAGE}/content-types">'
            f'<Override PartName="/xl/workbook.xml" ContentType="{main_type}"/>'
            f'<Override PartName="/xl/sharedStrings.xml" ContentType="{STRINGS}"/></Types>'
        ),
        "xl/workbook.xml": (
            f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">{properties}<sheets>'
            + "".join(
                f'<sheet name={quoteattr(name)} sheetId="{index}" state="{state}" r:id="r{index}"/>'
                for index, (name, state, _) in enumerate(given, start=1)
            )
            + "</sheets></workbook>"
        ),
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{PACKAGE}/relationships">'
            + "".join(
                f'<Relationship Id="r{index}" Type="{RELATIONS}/worksheet" '
                f'Target="worksheets/sheet{index}.xml"/>'
                for index in range(1, len(given) + 1)
            )
            + "</Relationships>"
        ),
        "xl/styles.xml": STYLES,
    }
    files |= {f"xl/worksheets/sheet{index}.xml": xml for index, (_, _, xml) in enumerate(given, start=1)}
    files |= parts or {}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()
