"""What is wrong with a suite, said so that it can be found and mended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from proctor_casefiles.documents import Path, dotted, undotted
from proctor_casefiles.suggesting import suggestion

__all__ = ["Path", "SuiteInvalid", "SuiteProblem", "dotted", "in_order", "suggestion", "undotted"]


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
