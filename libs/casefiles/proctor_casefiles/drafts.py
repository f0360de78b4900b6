"""What every importer makes of a file: drafts of cases that know where they stand, and what was wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CaseDraft", "FileRefused", "Finding"]


class FileRefused(Exception):
    """The file as a whole cannot be taken; nothing of it was used.

    `code` is stable: `not_xlsx` and the like for what is no such file, `too_large` for what breaks a limit.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def too_large(self) -> bool:
        """Whether a smaller file of the same kind would be taken."""
        return self.code == "too_large"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to say of one place in a file: `cell` is an address such as C7, a row, or a line."""

    sheet: str
    cell: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDraft:
    """A case as a file tells it, not yet validated.

    `fields` has the shape of `CaseFields`, camelCase. `sheet` and `place` say where it stands; `cells` is
    the closer address of single fields. Fields in `unsaid` are ones that the file has no room for: a case
    that is stored already keeps its own. `typical` tells that the assertions are the usual ones of the
    case's category and not the author's.
    """

    fields: Mapping[str, Any]
    place: str
    sheet: str = ""
    cells: Mapping[str, str] = field(default_factory=dict)
    unsaid: frozenset[str] = frozenset()
    typical: bool = False

    def at(self, path: str) -> str:
        """Say where the field of a dotted path such as `assertions.0.pattern` stands."""
        parts = path.split(".")
        for length in range(len(parts), 0, -1):
            if (cell := self.cells.get(".".join(parts[:length]))) is not None:
                return cell
        return self.place

    def finding(self, path: str, message: str) -> Finding:
        """Say something of one field."""
        return Finding(self.sheet, self.at(path), message)
