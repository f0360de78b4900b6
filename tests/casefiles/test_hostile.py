from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor_casefiles.categories import default_categories
from proctor_casefiles.drafts import FileRefused
from proctor_casefiles.xlsx.reading import read_cases
from tests.casefiles.workbooks import HEADER, MAIN, cell, row, rows, sheet_xml, workbook

GOOD = ("RM-1", "Мова", "Вітається", "Вітається українською.", "Високий", "Привіт")
CASES = rows(HEADER, GOOD)
MIB = 1024 * 1024

# Reads a file in a process of its own, and says what it answered and how much memory that took.
MEASURED = """
import json, sys
from proctor_casefiles.categories import default_categories
from proctor_casefiles.drafts import FileRefused
from proctor_casefiles.xlsx.reading import read_cases
data = open(sys.argv[1], "rb").read()
try:
    code = len(read_cases(data, table=default_categories()).drafts)
except FileRefused as refused:
    code = refused.code
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) // 1024
print(json.dumps([code, peak]))
"""


def refused(data: bytes) -> FileRefused:
    with pytest.raises(FileRefused) as caught:
        read_cases(data, table=default_categories())
    return caught.value


def bomb() -> bytes:
    return workbook(("Кейси", "visible", sheet_xml(CASES + "<row>" + " " * (90 * MIB) + "</row>")))


def bomb_beside_the_cells() -> bytes:
    return workbook(CASES, parts={"xl/media/image1.png": b"\0" * (200 * MIB)})


def many_cells() -> bytes:
    wide = "<row>" + "<c/>" * 15_000 + "</row>"
    return workbook(("Кейси", "visible", sheet_xml(CASES + wide * 200)))


def many_empty_rows() -> bytes:
    return workbook(("Кейси", "visible", sheet_xml(CASES + "<row/>" * 3_000_000)))


def many_rows() -> bytes:
    content = "".join(f'<row r="{number}"><c><v>1</v></c></row>' for number in range(9, 60_000))
    return workbook(("Кейси", "visible", sheet_xml(CASES + content)))


def many_strings() -> bytes:
    strings = f'<sst xmlns="{MAIN}">' + "<si><t>x</t></si>" * 600_000 + "</sst>"
    return workbook(CASES, parts={"xl/sharedStrings.xml": strings})


def many_styles() -> bytes:
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs>' + "<xf/>" * 500_000 + "</cellXfs></styleSheet>"
    return workbook(CASES, parts={"xl/styles.xml": styles})


def long_cell() -> bytes:
    return workbook(rows(HEADER, ("RM-1", "Мова", "x" * (20 * MIB), *GOOD[3:])))


def long_attribute() -> bytes:
    return workbook(("Кейси", "visible", sheet_xml(CASES + f'<row spans="{"1" * (30 * MIB)}"/>')))


def many_merges() -> bytes:
    after = "<mergeCells>" + '<mergeCell ref="A1:B9"/>' * 300_000 + "</mergeCells>"
    return workbook(("Кейси", "visible", sheet_xml(CASES, after=after)))


def many_parts() -> bytes:
    return workbook(CASES, parts={f"x/{number}": b"" for number in range(30_000)})


def nested() -> bytes:
    return workbook(("Кейси", "visible", sheet_xml(CASES + "<row>" * 900_000 + "</row>" * 900_000)))


def one_text_in_every_cell() -> bytes:
    strings = f'<sst xmlns="{MAIN}"><si><t>{"x" * 150_000}</t></si></sst>'
    cells = "".join(f'<c r="{column}{{row}}" t="s"><v>0</v></c>' for column in "BCDF")
    content = "".join(f'<row r="{row}">{cells.format(row=row)}</row>' for row in range(9, 15_000))
    return workbook(("Кейси", "visible", sheet_xml(CASES + content)), parts={"xl/sharedStrings.xml": strings})


def entities(declaration: str) -> Callable[[], bytes]:
    def made() -> bytes:
        return workbook(("Кейси", "visible", declaration + sheet_xml(CASES.replace("Привіт", "&lol;"))))

    return made


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + '<!ENTITY lol "&i;">]>'
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY lol SYSTEM "file:///etc/passwd">]>'
STRINGS_LAUGH = "xl/sharedStrings.xml"

HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a part that unpacks without end": (bomb, "too_large"),
    "such a part that nobody reads": (bomb_beside_the_cells, "too_large"),
    "millions of empty rows": (many_empty_rows, "too_large"),
    "millions of cells": (many_cells, "too_large"),
    "tens of thousands of rows": (many_rows, "too_large"),
    "hundreds of thousands of strings": (many_strings, "too_large"),
    "hundreds of thousands of styles": (many_styles, "too_large"),
    "a cell of megabytes": (long_cell, "too_large"),
    "one text in every cell": (one_text_in_every_cell, "too_large"),
    "a million levels": (nested, "damaged_xlsx"),
    "an attribute of megabytes": (long_attribute, "damaged_xlsx"),
    "hundreds of thousands of merged ranges": (many_merges, "too_large"),
    "tens of thousands of parts": (many_parts, "too_large"),
    "entities that grow": (entities(LAUGHS), "unsafe_xlsx"),
    "an entity from a file": (entities(OUTSIDE), "unsafe_xlsx"),
    "entities in the shared strings": (
        lambda: workbook(CASES, parts={STRINGS_LAUGH: LAUGHS + f'<sst xmlns="{MAIN}"/>'}),
        "unsafe_xlsx",
    ),
    "entities in the workbook": (
        lambda: workbook(CASES, parts={"xl/workbook.xml": LAUGHS + f'<workbook xmlns="{MAIN}"/>'}),
        "unsafe_xlsx",
    ),
}


def measured(data: bytes, folder: Path) -> tuple[object, int]:
    """What reading a file answers (how many drafts, or why not), and the most memory it took, in MiB."""
    path = folder / "cases.xlsx"
    path.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, path], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer, peak = json.loads(done.stdout)
    return answer, peak


LINUX = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is measured by Linux's own count"
)


@LINUX
@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_made_to_hurt_is_refused_without_much_memory(name: str, tmp_path: Path) -> None:
    make, code = HOSTILE[name]
    data = make()
    assert len(data) < 5 * MIB
    answer, peak = measured(data, tmp_path)
    assert answer == code
    assert peak < 200


@LINUX
def test_ten_thousand_cases_are_read_without_much_memory(tmp_path: Path) -> None:
    text = "Питання про замовлення, доставку, оплату та повернення коштів. " * 3
    content = rows(
        HEADER, *((f"RM-{index}", "Мова", f"Кейс {index}", text, "Низький", text) for index in range(10_000))
    )
    answer, peak = measured(workbook(content), tmp_path)
    assert answer == 10_000
    assert peak < 200


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an empty file"),
        (b" \n", "an empty file"),
        ("ID;Категорія;Назва\nRM-1;Мова;x\n".encode(), "CSV"),
        ("ID;Категорія\n".encode("cp1251"), "CSV"),
        ("ID\tКатегорія\n".encode("utf-16"), "CSV"),
        (b"\xef\xbb\xbf<html><table><tr><td>ID</td></tr></table></html>", "HTML"),
        (b'<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>', "XML"),
        (b"%PDF-1.7\n\x00\x01", "PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "legacy .xls or an encrypted"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"),
            "remove the password",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "something else"),
    ],
)
def test_what_is_no_workbook_is_told_by_its_content(data: bytes, said: str) -> None:
    error = refused(data)
    assert error.code == "not_xlsx"
    assert said in error.message


def zipped(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped(readme=b"x"), "without a workbook"),
        (zipped(mimetype=b"application/vnd.oasis.opendocument.spreadsheet"), ".ods"),
        (
            workbook(
                CASES, main_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            ),
            "Word",
        ),
        (
            workbook(CASES, main_type="application/vnd.ms-excel.sheet.binary.macroEnabled.main"),
            ".xlsb",
        ),
        (
            workbook(
                CASES,
                parts={
                    "xl/workbook.xml": '<workbook xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"/>'
                },
            ),
            "Strict",
        ),
    ],
)
def test_other_documents_are_called_by_their_names(data: bytes, said: str) -> None:
    error = refused(data)
    assert (error.code, error.too_large) == ("not_xlsx", False)
    assert said in error.message


@pytest.mark.parametrize(
    "data",
    [
        workbook(CASES, main_type="application/vnd.ms-excel.sheet.macroEnabled.main+xml"),
        workbook(CASES, main_type="application/vnd.ms-excel.template.macroEnabled.main+xml"),
        workbook(CASES, parts={"xl/vbaProject.bin": b"x"}),
    ],
)
def test_macros_are_refused_under_any_name(data: bytes) -> None:
    assert refused(data).code == "macro_workbook"


def test_an_encrypted_zip_is_refused() -> None:
    data = bytearray(workbook(CASES))
    for marker, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = data.find(marker)
        while at >= 0:
            flags = struct.unpack_from("<H", data, at + offset)[0]
            struct.pack_into("<H", data, at + offset, flags | 1)
            at = data.find(marker, at + 4)
    assert "encrypted" in refused(bytes(data)).message


@pytest.mark.parametrize("keep", [10, 400, 900, -1, -40])
def test_a_file_that_was_cut_off_is_damaged(keep: int) -> None:
    assert refused(workbook(CASES)[:keep]).code == "damaged_xlsx"


def test_a_part_that_was_altered_is_damaged() -> None:
    data = bytearray(workbook(CASES))
    at = data.find(b"xl/worksheets/sheet1.xml") + len("xl/worksheets/sheet1.xml") + 40
    data[at : at + 20] = bytes(20)
    assert refused(bytes(data)).code == "damaged_xlsx"


def test_a_part_whose_stated_size_lies_is_damaged_and_not_unpacked_further() -> None:
    data = bytearray(bomb())
    at = data.rfind(b"xl/worksheets/sheet1.xml") - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    struct.pack_into("<I", data, at + 24, 5_000)
    assert refused(bytes(data)).code == "damaged_xlsx"


@pytest.mark.parametrize(
    "content",
    [
        "<row",
        rows(HEADER) + '<row r="0"/>',
        rows(HEADER) + '<row r="99999999999999"/>',
        rows(HEADER) + '<row r="-2"/>',
        row(5, HEADER) + row(2, GOOD),
        rows(HEADER) + f'<row r="2">{cell("A9", "x")}</row>',
        rows(HEADER) + f'<row r="2">{cell("ZZZZ2", "x")}</row>',
        rows(HEADER) + f'<row r="2">{cell("B2", "x")}{cell("A2", "y")}</row>',
        rows(HEADER) + f'<row r="2">{cell("A2", "99", kind="s")}</row>',
        rows(HEADER) + f'<row r="2">{cell("A2", "сім", kind="n")}</row>',
        rows(HEADER) + '<row r="2"><c r="A2" s="x"><v>1</v></c></row>',
    ],
)
def test_a_sheet_that_contradicts_itself_is_damaged(content: str) -> None:
    assert refused(workbook(content)).code == "damaged_xlsx"


@pytest.mark.parametrize(
    "part",
    [
        "xl/workbook.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/styles.xml",
        "xl/sharedStrings.xml",
        "[Content_Types].xml",
    ],
)
def test_a_broken_part_is_named(part: str) -> None:
    error = refused(workbook(CASES, parts={part: "<broken"}))
    assert error.code == "damaged_xlsx"
    assert part in error.message


def test_styles_that_other_readers_stumble_over_do_not_matter() -> None:
    styles = (
        f'<styleSheet xmlns="{MAIN}"><fonts><font><sz val="x"/></font></fonts><fills><fill/></fills>'
        "<cellXfs><xf numFmtId='x' fontId='9'/></cellXfs><cellStyles><cellStyle/></cellStyles></styleSheet>"
    )
    assert (
        len(read_cases(workbook(CASES, parts={"xl/styles.xml": styles}), table=default_categories()).drafts)
        == 1
    )


def test_what_follows_the_cells_is_not_built() -> None:
    after = (
        "<conditionalFormatting><nonsense/></conditionalFormatting>"
        f'<hyperlinks>{"<hyperlink/>" * 50_000}</hyperlinks><extLst><ext uri="x"/></extLst>'
    )
    data = workbook(("Кейси", "visible", sheet_xml(CASES, after=after)))
    assert len(read_cases(data, table=default_categories()).drafts) == 1
