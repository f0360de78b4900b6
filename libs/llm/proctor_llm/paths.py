"""Looking into a bot's reply by path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proctor_contracts.base import Json
from proctor_contracts.endpoint import parse_path

__all__ = ["MISSING", "Missing", "Path"]


class Missing:
    """There is nothing at a path; not the same as a null that is there."""


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path and how it was written."""

    text: str
    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> Path:
        """Read a path; ValueError when it makes no sense."""
        return cls(text, parse_path(text))

    def look(self, value: Json) -> Json | Missing:
        """Give what is at the path, or MISSING."""
        for step in self.steps:
            if isinstance(step, str):
                if not isinstance(value, dict) or step not in value:
                    return MISSING
                value = value[step]
            else:
                if not isinstance(value, list) or step >= len(value):
                    return MISSING
                value = value[step]
        return value

    def explain(self, value: Json) -> str:
        """Say how far the path leads and what is there instead."""
        seen = "$"
        for step in self.steps:
            if isinstance(step, str):
                if not isinstance(value, dict):
                    return f"{seen} is {_kind(value)}, so it has no {step!r}"
                if step not in value:
                    names = ", ".join(list(map(str, value))[:12]) or "nothing"
                    return f"{seen} has no {step!r}; it has {names}"
                value, seen = value[step], f"{seen}.{step}"
            else:
                if not isinstance(value, list):
                    return f"{seen} is {_kind(value)}, so it has no element {step}"
                if step >= len(value):
                    return f"{seen} has {len(value)} elements, so none at {step}"
                value, seen = value[step], f"{seen}[{step}]"
        return f"{seen} is {_kind(value)}"


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
