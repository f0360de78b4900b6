"""One row of a spreadsheet as a draft of a case: each cell read by what its column means."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from proctor_casefiles.categories import CategoryTable
from proctor_casefiles.drafts import CaseDraft, Typical
from proctor_casefiles.words import comparable, label, lookalike, trimmed
from proctor_contracts.base import nested_deeper, unstorable
from proctor_contracts.enums import RetryPolicy
from proctor_contracts.schemas.imports import ImportProblem

from .cells import Row
from .escapes import FULL_CELL, cell_length, unescaped
from .header import JSON_FIELDS, Header, known_columns

__all__ = ["RowReader"]

_WORDS = Path(__file__).parents[1] / "data" / "words.json"
_SEPARATORS = re.compile(r"[,;\n]")
_NUMBER = re.compile(r"[+-]?\d{1,12}")
_DEEPEST = 64


class RowReader:
    """Reads the rows of one sheet."""

    def __init__(self, header: Header, *, sheet: str, categories: CategoryTable, language: str) -> None:
        self._header = header
        self._sheet = sheet
        self._categories = categories
        self._language = language

    def draft(self, row: Row) -> CaseDraft:
        """Read a row; what is wrong in it is noted, cell by cell, and the rest read all the same."""
        return _Reading(row, self._header, self._sheet).draft(self._categories, self._language)


class _Reading:
    def __init__(self, row: Row, header: Header, sheet: str) -> None:
        self._row = row
        self._columns = header.columns
        self._sheet = sheet
        self._fields: dict[str, Any] = {}
        self._places: dict[str, str] = {}
        self._problems: list[ImportProblem] = []

    def draft(self, categories: CategoryTable, language: str) -> CaseDraft:
        """Read everything that the header names."""
        self._plain("ref", needed=False)
        self._plain("category", needed=True)
        self._plain("name", needed=True)
        self._rubric()
        self._chosen("priority", _words()["priority"], default="medium")
        for field in ("weight", "threshold"):
            self._number(field, default=1 if field == "weight" else None)
        self._tags()
        for field, default in (("isActive", "true"), ("critical", "false")):
            self._flag(field, default)
        self._chosen("retryPolicy", {one.value: (one.value,) for one in RetryPolicy}, default=None)
        for field in JSON_FIELDS:
            self._json(field)
        self._input()
        typical = self._typical(categories, language)
        first = min((columns[0] for columns in self._columns.values()), default=0)
        return CaseDraft(
            fields=self._fields,
            place=self._row.address(self._columns.get("ref", (first,))[0]),
            places=self._places,
            sheet=self._sheet,
            problems=tuple(sorted(self._problems, key=lambda one: (len(one.cell or ""), one.cell or ""))),
            typical=typical,
        )

    def _text(
        self, field: str, column: int, *, trim: bool, blank: bool = False, tell_apart: bool = False
    ) -> str | None:
        """Read a cell; None when it is empty or unusable, which is noted; `blank` text counts as text."""
        cell = self._row[column]
        self._places.setdefault(field, self._row.address(column))
        if cell.problem is not None:
            self._note(column, cell.problem)
            return None
        if cell.text is None or not (blank or trimmed(cell.text)):
            return None
        cleaned = label(cell.text) if tell_apart else trimmed(cell.text) if trim else cell.text
        text = unescaped(cleaned)
        if reason := unstorable(text):
            self._note(column, reason)
            return None
        return text

    def _note(self, column: int, message: str) -> None:
        self._problems.append(
            ImportProblem(sheet=self._sheet, cell=self._row.address(column), message=message)
        )

    def _unusable(self, column: int) -> bool:
        return self._row[column].problem is not None

    def _plain(self, field: str, *, needed: bool) -> None:
        for column in self._columns.get(field, ()):
            self._fields[field] = self._text(field, column, trim=True, tell_apart=field != "name")
            if needed and self._fields[field] is None and not self._unusable(column):
                self._note(column, f"«{known_columns()[field][0]}» is empty")

    def _rubric(self) -> None:
        columns = (*self._columns.get("rubric", ()), *self._columns.get("expected", ()))
        rubric = ""
        goes_on = False
        for column in columns:
            text = self._text("rubric", column, trim=False, blank=goes_on) or ""
            rubric += text if goes_on or not rubric or not text else f"\n\n{text}"
            goes_on = len(text) >= FULL_CELL // 2 and cell_length(text) >= FULL_CELL
        if columns:
            self._fields["rubric"] = rubric or None

    def _chosen(self, field: str, words: Mapping[str, tuple[str, ...]], *, default: str | None) -> None:
        for column in self._columns.get(field, ()):
            text = self._text(field, column, trim=True)
            if text is None:
                self._fields[field] = default
                continue
            wanted = comparable(text)
            found = next((value for value, known in words.items() if wanted in known), None)
            if found is None:  # a Latin i, say, in a Ukrainian word
                wanted = lookalike(text)
                found = next(
                    (value for value, known in words.items() if wanted in map(lookalike, known)), None
                )
            if found is None:
                accepted = ", ".join(
                    f"{value} ({known[1]})" if len(known) > 1 else value for value, known in words.items()
                )
                self._note(column, f"{text[:60]!r} is not a known value; use {accepted}, or leave it empty")
            else:
                self._fields[field] = found

    def _flag(self, field: str, default: str) -> None:
        words = _words()["flag"]
        for column in self._columns.get(field, ()):
            text = self._text(field, column, trim=True) or default
            wanted = comparable(text) or "no"  # a dash
            if wanted in words["true"] or wanted in words["false"]:
                self._fields[field] = wanted in words["true"]
            else:
                self._note(column, f"{text[:60]!r} is neither yes nor no; use так or ні, yes or no")

    def _number(self, field: str, *, default: int | None) -> None:
        for column in self._columns.get(field, ()):
            text = self._text(field, column, trim=True)
            if text is None:
                self._fields[field] = default
            elif _NUMBER.fullmatch(number := text.removesuffix("%").strip()):
                self._fields[field] = int(number)
            else:
                self._note(column, f"{text[:60]!r} is not a whole number")

    def _tags(self) -> None:
        for column in self._columns.get("tags", ()):
            text = self._text("tags", column, trim=True) or ""
            if text.startswith("["):
                self._fields["tags"] = self._decoded(column, text)
            else:
                tags = (trimmed(tag) for tag in _SEPARATORS.split(text))
                self._fields["tags"] = list(dict.fromkeys(tag for tag in tags if tag))

    def _json(self, field: str) -> None:
        columns = self._columns.get(field, ())
        texts = [self._text(field, column, trim=False, blank=True) or "" for column in columns]
        if not columns or any(self._unusable(column) for column in columns):
            return
        text = "".join(texts)
        if trimmed(text):
            self._fields[field] = self._decoded(columns[0], text)
        elif field in {"reference", "budget"}:
            self._fields[field] = None

    def _decoded(self, column: int, text: str) -> Any:
        try:
            value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            said = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
            self._note(column, f"is not valid JSON: {said}")
            return None
        if nested_deeper(value, _DEEPEST):
            self._note(column, f"is nested deeper than {_DEEPEST} levels")
            return None
        return value

    def _input(self) -> None:
        if self._fields.get("input") is not None:
            return
        self._fields.pop("input", None)
        columns = self._columns.get("message", ())
        if columns:
            self._places["input"] = self._row.address(columns[0])
        messages = [self._text("input", column, trim=False) for column in columns]
        broken = any(self._unusable(column) for column in (*columns, *self._columns.get("input", ())))
        said = [text for text in messages if text is not None]
        if len(said) == 1:
            self._fields["input"] = {"kind": "scripted_single", "message": said[0]}
        elif said:
            lines = [{"role": "user", "content": text} for text in said]
            self._fields["input"] = {"kind": "scripted_multi", "messages": lines}
        elif not broken and not any(problem.cell == self._places["input"] for problem in self._problems):
            where = columns or self._columns["input"]
            self._note(where[0], f"«{known_columns()['message'][0]}» is empty")

    def _typical(self, categories: CategoryTable, language: str) -> Typical | None:
        if self._fields.get("assertions") is not None:
            return None
        self._fields.pop("assertions", None)
        if "assertions" in self._places and any(
            problem.cell == self._places["assertions"] for problem in self._problems
        ):
            return None
        category, name = self._fields.get("category"), self._fields.get("name")
        told = self._places.get("rubric") or self._places["category"]
        self._places["assertions"] = told
        broken = any(problem.cell in {told, self._places["category"]} for problem in self._problems)
        if not isinstance(category, str) or broken:
            return None
        found = categories.assertions(
            category=category,
            name=name or "",
            description=trimmed(self._fields.get("rubric") or ""),
            language=language,
        )
        if found is None:
            message = (
                f"category {category!r} has no typical checks, so «{known_columns()['rubric'][0]}» must say "
                "what the agent should do, and it is empty"
            )
            self._problems.append(ImportProblem(sheet=self._sheet, cell=told, message=message))
            return None
        return Typical(assertions=found)


@cache
def _words() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    document = json.loads(_WORDS.read_text(encoding="utf-8"))
    return {
        topic: {value: tuple(words) for value, words in choices.items()}
        for topic, choices in document.items()
    }


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is repeated in one object")
    return made


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
