"""The placeholders of promptfoo: `{{name}}`, filled from a test's variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from .notes import Unportable

__all__ = ["filled", "filled_value", "only_placeholder"]

_PLACEHOLDER = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*-?\}\}")
_LOGIC = re.compile(r"\{[{%#]")
_ROUNDS = 5
_LONGEST = 200_000


def only_placeholder(template: str) -> str | None:
    """Name the variable when the template is nothing but it."""
    found = _PLACEHOLDER.fullmatch(template.strip())
    return None if found is None else found[1]


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Put the variables into a template; those that hold placeholders in their turn are filled, too.

    Raises:
        Unportable: for an unknown variable, template logic or filters, and text that grows without end.
    """
    text = template
    for _ in range(_ROUNDS):
        if not _LOGIC.search(text):
            return text
        text, count = _PLACEHOLDER.subn(lambda found: _text(found[1], values), text)
        if len(text) > _LONGEST:
            raise Unportable(f"grows beyond {_LONGEST:,} characters once its variables are filled in")
        if not count:
            raise Unportable("uses template logic or filters; only {{name}} is filled in")
    if _LOGIC.search(text):
        raise Unportable("has variables that lead to each other without end")
    return text


def filled_value(value: Any, values: Mapping[str, Any]) -> Any:
    """Fill every text inside a value."""
    match value:
        case str():
            return filled(value, values)
        case list():
            return [filled_value(item, values) for item in value]
        case dict():
            return {key: filled_value(item, values) for key, item in value.items()}
        case _:
            return value


def _text(path: str, values: Mapping[str, Any]) -> str:
    value: Any = values
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            raise Unportable(f"names the variable {path}, which the test does not set")
        value = value[step]
    match value:
        case str() if value.startswith("file://"):
            raise Unportable(f"takes the variable {path} from a file ({value}), which is not read")
        case str():
            return value
        case bool():
            return str(value).lower()
        case None:
            return ""
        case dict() | list():
            return orjson.dumps(value).decode()
        case _:
            return str(value)
