"""The row that says what the columns are: in Ukrainian, English or Russian, anywhere near the top."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proctor_casefiles.drafts import FileRefused
from proctor_casefiles.words import comparable, trimmed

from .cells import Row

__all__ = ["JSON_FIELDS", "Header", "find_header", "known_columns"]

JSON_FIELDS = ("input", "assertions", "reference", "budget")
"""Fields whose cell holds JSON; long ones go on in columns with a number behind the name."""

SEARCHED_ROWS = 50
_DATA = Path(__file__).parents[1] / "data" / "columns.json"
_NUMBERED = re.compile(r"(.+?) ?#?([0-9]{1,3})")
_NEEDED = ("category", "name")
_LEAST_KNOWN = 2
_MANY = ("message", "rubric", *JSON_FIELDS)


@dataclass(frozen=True, slots=True)
class Header:
    """Which columns (from 0) hold a field; only messages and JSON have more than one, in their order."""

    row: int
    columns: Mapping[str, tuple[int, ...]]
    unknown: Sequence[tuple[int, str]]


@cache
def known_columns() -> Mapping[str, tuple[str, ...]]:
    """The names that each field may have in a header, the one that is written first."""
    return {field: tuple(names) for field, names in json.loads(_DATA.read_text(encoding="utf-8")).items()}


@cache
def _by_name() -> Mapping[str, str]:
    return {comparable(name): field for field, names in known_columns().items() for name in names}


def find_header(rows: Iterable[Row], *, sheet: str) -> Header | None:
    """Find the header among the first rows; None when no row looks like one.

    Raises:
        FileRefused: for a header that lacks a column or has one twice.
    """
    almost: FileRefused | None = None
    for row in itertools.islice(rows, SEARCHED_ROWS):
        found = [
            (column, *_field(cell.text or "")) for column, cell in enumerate(row.cells) if not cell.problem
        ]
        known = [one for one in found if one[1] is not None]
        if len({field for _, field, _ in known}) >= _LEAST_KNOWN and _mostly(row, len(known)):
            try:
                return _header(row, known, sheet=sheet)
            except FileRefused as refused:
                almost = almost or refused
    if almost is not None:
        raise almost
    return None


def _mostly(row: Row, known: int) -> bool:
    """Whether a row is a header and not a case with the words of one in some cells."""
    return known * 2 >= sum(bool(trimmed(cell.text or "")) for cell in row.cells)


def _field(text: str) -> tuple[str | None, int]:
    name = comparable(text)
    if name in _by_name():
        return _by_name()[name], 1
    numbered = _NUMBERED.fullmatch(name)
    if numbered and (field := _by_name().get(numbered[1].strip())) in _MANY:
        return field, int(numbered[2])
    return None, 0


def _header(row: Row, known: Sequence[tuple[int, str | None, int]], *, sheet: str) -> Header:
    places: dict[str, list[tuple[int, int]]] = {}
    for column, field, number in known:
        if field is not None:
            places.setdefault(field, []).append((number, column))
    for field, taken in places.items():
        number, times = Counter(number for number, _ in taken).most_common(1)[0]
        if times > 1:
            twice = " and ".join(row.address(column) for one, column in taken if one == number)
            name = known_columns()[field][0]
            raise FileRefused(
                "ambiguous_headers",
                f"sheet {sheet!r}: {twice} are both the column «{name}»; keep one of them",
            )
    missing = [field for field in _NEEDED if field not in places]
    if "message" not in places and "input" not in places:
        missing.append("message")
    if missing:
        said = "; ".join(
            f"«{known_columns()[field][0]}» ({', '.join(known_columns()[field][1:4])})" for field in missing
        )
        raise FileRefused(
            "missing_columns", f"sheet {sheet!r}, row {row.number}: the header has no column {said}; add it"
        )
    columns = {field: tuple(column for _, column in sorted(taken)) for field, taken in places.items()}
    used = {column for one in columns.values() for column in one}
    unknown = [
        (column, trimmed(cell.text or ""))
        for column, cell in enumerate(row.cells)
        if column not in used and trimmed(cell.text or "")
    ]
    return Header(row.number, columns, unknown)
