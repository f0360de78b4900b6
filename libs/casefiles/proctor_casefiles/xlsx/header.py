"""The row that says what the columns are: in Ukrainian, English or Russian, anywhere near the top."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proctor_casefiles.drafts import FileRefused
from proctor_casefiles.words import lookalike, trimmed

from .cells import Row

__all__ = ["JSON_FIELDS", "Header", "find_header", "known_columns", "repeats_header"]

JSON_FIELDS = ("input", "assertions", "reference", "budget")
"""Fields whose cell holds JSON; long ones go on in columns with a number behind the name."""

SEARCHED_ROWS = 50
_DATA = Path(__file__).parents[1] / "data" / "columns.json"
_NUMBERED = re.compile(r"(.+?) ?#?([0-9]{1,3})")
_NEEDED = ("category", "name")
_LEAST_KNOWN = 2
_PROPER = 3  # the first names of a field are the proper ones: Ukrainian, English, Russian
_MANY = ("message", "rubric", *JSON_FIELDS)


@dataclass(frozen=True, slots=True)
class Header:
    """Which columns (from 0) hold a field; only messages and JSON have more than one, in their order."""

    row: int
    columns: Mapping[str, tuple[int, ...]]
    unused: Sequence[tuple[int, str]]


@cache
def known_columns() -> Mapping[str, tuple[str, ...]]:
    """The names that each field may have in a header, the one that is written first."""
    return {field: tuple(names) for field, names in json.loads(_DATA.read_text(encoding="utf-8")).items()}


@cache
def _by_name() -> Mapping[str, tuple[str, int]]:
    """Fields by name, with how far a name is from the proper one in the three languages.

    Half of a Ukrainian header is often typed with a Latin i, so letters that look the same are one.
    """
    return {
        lookalike(name): (field, max(index - _PROPER, 0))
        for field, names in known_columns().items()
        for index, name in enumerate(names, start=1)
    }


def find_header(rows: Iterable[Row], *, sheet: str) -> Header | None:
    """Find the header among the first rows; None when no row looks like one.

    Raises:
        FileRefused: for a header that lacks a column or has one twice.
    """
    almost: FileRefused | None = None
    for row in itertools.islice(rows, SEARCHED_ROWS):
        found = (_known(column, cell.text or "") for column, cell in enumerate(row.cells) if not cell.problem)
        known = [one for one in found if one is not None]
        if len({one.field for one in known}) >= _LEAST_KNOWN and _mostly(row, len(known)):
            try:
                return _header(row, known, sheet=sheet)
            except FileRefused as refused:
                almost = almost or refused
    if almost is not None:
        raise almost
    return None


def repeats_header(row: Row, header: Header) -> bool:
    """Whether a row says again, perhaps in another language, what the columns are."""
    texts = {
        column: (field, text)
        for field, columns in header.columns.items()
        for column in columns
        if trimmed(text := row[column].text or "")
    }
    again = [(_known(column, text), field) for column, (field, text) in texts.items()]
    return len(again) >= _LEAST_KNOWN and all(
        known is not None and known.field == field for known, field in again
    )


def _mostly(row: Row, known: int) -> bool:
    """Whether a row is a header and not a case with the words of one in some cells."""
    return known * 2 >= sum(bool(trimmed(cell.text or "")) for cell in row.cells)


@dataclass(frozen=True, slots=True)
class _Known:
    """A column whose name is known; `number` is the one behind it, `off` how far it is from a proper name."""

    column: int
    field: str
    number: int
    off: int


def _known(column: int, text: str) -> _Known | None:
    name = lookalike(text)
    if name in _by_name():
        field, off = _by_name()[name]
        return _Known(column, field, 1, off)
    numbered = _NUMBERED.fullmatch(name)
    if numbered:
        field, off = _by_name().get(numbered[1].strip(), ("", 0))
        if field in _MANY:
            return _Known(column, field, int(numbered[2]), off)
    return None


def _header(row: Row, known: Sequence[_Known], *, sheet: str) -> Header:
    places: dict[str, list[tuple[int, int]]] = {}
    by_place: dict[tuple[str, int], list[_Known]] = {}
    for one in known:
        by_place.setdefault((one.field, one.number), []).append(one)
    for (field, number), taken in by_place.items():
        best = min(one.off for one in taken)
        # «№» beside «ID» is left out; of two names that are as good, the wrong one might be taken.
        alike = [one for one in taken if one.off == best]
        if len(alike) > 1:
            twice = " and ".join(row.address(one.column) for one in alike)
            name = known_columns()[field][0]
            raise FileRefused(
                "ambiguous_headers",
                f"sheet {sheet!r}: {twice} are both the column «{name}»; keep one of them",
            )
        places.setdefault(field, []).append((number, alike[0].column))
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
    unused = [
        (column, trimmed(cell.text or ""))
        for column, cell in enumerate(row.cells)
        if column not in used and trimmed(cell.text or "")
    ]
    return Header(row.number, columns, unused)
