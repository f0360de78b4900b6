"""Typical checks of a category, for people who describe a rule and leave the checks to the importer.

The table is data: the built-in one (`data/categories.json`) knows the six categories of the first product,
and a file of the same shape takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from proctor_contracts.assertions import Assertion

from .words import comparable

__all__ = ["CategoryTable", "CategoryTableInvalid", "default_categories", "read_categories"]

_BUILT_IN = Path(__file__).with_name("data") / "categories.json"
_KEYS = {"names", "description", "assertions"}


class CategoryTableInvalid(ValueError):
    """A category table cannot be used; the message says where and why."""


@dataclass(frozen=True, slots=True)
class _Entry:
    assertions: tuple[dict[str, Any], ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class CategoryTable:
    """Assertions by category, with `{{description}}`, `{{name}}`, `{{category}}`, `{{language}}` in them."""

    known: Mapping[str, _Entry]
    others: _Entry

    def assertions(
        self, *, category: str, name: str, description: str, language: str
    ) -> tuple[dict[str, Any], ...] | None:
        """Make the checks of a case; None when category and description give nothing to check."""
        entry = self.known.get(comparable(category), self.others)
        told = description or entry.description
        if not told and _speaks_of(entry.assertions, "description"):
            return None
        words = {"description": told, "name": name, "category": category, "language": language[:2]}
        return tuple(_filled(assertion, words) for assertion in entry.assertions) or None


@cache
def default_categories() -> CategoryTable:
    """The table that Proctor brings."""
    return read_categories(_BUILT_IN.read_text(encoding="utf-8"))


def read_categories(text: str | bytes) -> CategoryTable:
    """Read a table from JSON or YAML in UTF-8.

    Raises:
        CategoryTableInvalid: naming the place.
    """
    try:
        document = _parsed(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CategoryTableInvalid(f"this is not UTF-8 at byte {error.start}") from error
    if not isinstance(document, dict) or not isinstance(document.get("categories"), list):
        raise CategoryTableInvalid(
            "a category table is {categories: [{names, assertions}], others: {assertions}}"
        )
    if unknown := set(document) - {"categories", "others"}:
        raise CategoryTableInvalid(f"{min(unknown)}: is not known; a table has categories and others")
    known: dict[str, _Entry] = {}
    for index, item in enumerate(document["categories"]):
        place = f"categories.{index}"
        entry = _entry(item, place)
        names = item.get("names")
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise CategoryTableInvalid(f"{place}.names: should be a list of texts")
        for name in names:
            if known.setdefault(comparable(name), entry) is not entry:
                raise CategoryTableInvalid(f"{place}.names: {name!r} is there twice")
    return CategoryTable(known, _entry(document.get("others", {"assertions": []}), "others"))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        import yaml  # noqa: PLC0415 - only for a table of somebody's own that is not JSON

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise CategoryTableInvalid(f"this is neither JSON nor YAML: {error}") from error


def _entry(item: Any, place: str) -> _Entry:
    if not isinstance(item, dict) or not isinstance(item.get("assertions"), list):
        raise CategoryTableInvalid(f"{place}.assertions: should be a list of assertions")
    if unknown := set(item) - _KEYS:
        raise CategoryTableInvalid(
            f"{place}.{min(unknown)}: is not known; an entry has {', '.join(sorted(_KEYS))}"
        )
    description = item.get("description", "")
    if not isinstance(description, str):
        raise CategoryTableInvalid(f"{place}.description: should be text")
    words = {"description": "x", "name": "x", "category": "x", "language": "uk"}
    for index, assertion in enumerate(item["assertions"]):
        try:
            _assertion().validate_python(_filled(assertion, words))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(step) for step in first["loc"])
            raise CategoryTableInvalid(f"{place}.assertions.{index}.{where}: {first['msg']}") from error
    return _Entry(tuple(item["assertions"]), description)


@cache
def _assertion() -> TypeAdapter[Any]:
    return TypeAdapter(Assertion)


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    match value:
        case str() if "{{" in value:
            for name, text in words.items():
                if value == f"{{{{{name}}}}}":
                    return text
                value = value.replace(f"{{{{{name}}}}}", text) if name != "description" else value
            return value.replace("{{description}}", words["description"])
        case dict():
            return {key: _filled(item, words) for key, item in value.items()}
        case list():
            return [_filled(item, words) for item in value]
        case _:
            return value


def _speaks_of(value: Any, name: str) -> bool:
    match value:
        case str():
            return f"{{{{{name}}}}}" in value
        case dict():
            return any(_speaks_of(item, name) for item in value.values())
        case list() | tuple():
            return any(_speaks_of(item, name) for item in value)
        case _:
            return False
