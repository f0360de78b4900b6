"""What reading a file gives, whatever its format: drafts of cases, and what is wrong at which place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proctor_contracts.schemas.imports import ImportProblem

__all__ = ["CaseDraft", "FileRefused", "Reading", "Typical"]


class FileRefused(Exception):
    """The file as a whole cannot be read; `too_large` when it is beyond a limit."""

    def __init__(self, code: str, message: str, *, too_large: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.too_large = too_large


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical:
    """Checks that the importer made up from category and description, for a case whose file has none."""

    assertions: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDraft:
    """One case as a file says it, not yet checked.

    `fields` has the REST shape (camelCase) and only what the file speaks of. `sheet` and `places` say where
    each field stands: a cell for spreadsheets, else a path; `place` is the case's own. `problems` were found
    while reading: such a draft is not imported, but its other fields are checked too. `typical` are made-up
    checks, which never replace checks that somebody edited.
    """

    fields: Mapping[str, Any]
    place: str
    places: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    problems: tuple[ImportProblem, ...] = ()
    warnings: tuple[ImportProblem, ...] = ()
    typical: Typical | None = None

    def at(self, path: str, message: str) -> ImportProblem:
        """Describe a problem with a field (`assertions.0.pattern`) at its place in the file."""
        name, _, inner = path.partition(".")
        place = self.places.get(name)
        if self.sheet is None:
            steps = (self.place, path) if place is None else (place, inner)
            return ImportProblem(path=".".join(filter(None, steps)), message=message)
        known = place is not None
        said = inner if known and inner else "" if known else path
        return ImportProblem(
            sheet=self.sheet,
            cell=place or self.place,
            message=f"{said}: {message}" if said else message,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything that a file holds; `whole` says that its drafts speak of every field that a case has."""

    drafts: Sequence[CaseDraft]
    warnings: tuple[ImportProblem, ...] = ()
    whole: bool = False
