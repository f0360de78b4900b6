"""What is wrong with a suite, said so that it can be found and mended."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import override

__all__ = ["Path", "SuiteInvalid", "SuiteProblem", "dotted", "in_order", "suggestion"]

Path = tuple[str | int, ...]
"""Where in a document: keys and indexes from its root."""


@dataclass(frozen=True, slots=True)
class SuiteProblem:
    """One fault: the file, the line where it is known, the path inside, and what to do."""

    file: str
    line: int | None
    path: str
    message: str

    @override
    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


class SuiteInvalid(Exception):
    """The suite cannot be run; `problems` holds every fault that was found, in file order."""

    def __init__(self, problems: Sequence[SuiteProblem]) -> None:
        problems = in_order(problems)
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def in_order(problems: Iterable[SuiteProblem]) -> tuple[SuiteProblem, ...]:
    """Sort problems by line, file after file in the order in which they were first met."""
    found = list(problems)
    files = {name: number for number, name in enumerate(dict.fromkeys(one.file for one in found))}
    return tuple(sorted(found, key=lambda one: (files[one.file], one.line or 0)))


def dotted(path: Path) -> str:
    """Write a path as `cases.3.assertions.0.pattern`."""
    return ".".join(map(str, path))


def suggestion(given: str, known: Collection[str]) -> str:
    """Name the closest known word, or all of them when none is close."""
    folded = {word.casefold().replace("_", ""): word for word in known}
    if close := difflib.get_close_matches(given.casefold().replace("_", ""), folded, n=1, cutoff=0.6):
        return f"did you mean {folded[close[0]]}?"
    return f"known are {', '.join(sorted(known))}" if known else "none is known here"
