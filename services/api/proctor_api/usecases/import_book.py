"""The book-keeping of an import: what is wrong with which draft, and what the others become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from pydantic import ValidationError

from proctor_api.errors import ApiError
from proctor_api.problems import field_problems
from proctor_casefiles.drafts import CaseDraft, Reading
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.common import FieldProblem
from proctor_contracts.schemas.imports import ImportOutcome, ImportProblem
from proctor_store.repositories.cases import CaseRecord

from .import_plan import Settled, Usual, Wanted, repeats, settled
from .validation import Findings

__all__ = ["Book", "decided", "note", "outcome", "valid"]

_MOST_SAID = 1_000
_GIVEN = {one.alias or name: name for name, one in CaseFields.model_fields.items()}


@dataclass(slots=True)
class Book:
    """What is wrong so far, by the number of the draft, and what is to be written."""

    problems: dict[int, list[ImportProblem]] = field(default_factory=dict)
    warnings: list[ImportProblem] = field(default_factory=list)
    created: list[CaseRecord] = field(default_factory=list)
    updated: list[CaseRecord] = field(default_factory=list)

    def copy(self) -> Book:
        """Begin again from what is known by now."""
        problems = {index: list(found) for index, found in self.problems.items()}
        return Book(problems, list(self.warnings), list(self.created), list(self.updated))

    def refuse(self, index: int, *problems: ImportProblem) -> None:
        """Note problems of one draft, which is not written then."""
        if problems:
            self.problems.setdefault(index, []).extend(problems)


def valid(reading: Reading, book: Book, new: Callable[[CaseFields], CaseRecord]) -> dict[int, Wanted]:
    """Validate every draft, also those with problems: one fault must not hide another."""
    wanted: dict[int, Wanted] = {}
    for index, draft in enumerate(reading.drafts):
        book.refuse(index, *draft.problems)
        fields = dict(draft.fields)
        if draft.typical is not None:
            fields["assertions"] = draft.typical.assertions
        try:
            record = new(CaseFields.model_validate(fields))
        except ValidationError as error:
            book.refuse(
                index, *_faults(draft, field_problems(error.errors(include_url=False), fields).errors)
            )
        except ApiError as error:
            book.refuse(index, *_faults(draft, error.errors))
        else:
            if index not in book.problems:
                given = [_GIVEN[name] for name in fields if name in _GIVEN]
                wanted[index] = Wanted(draft, record, given, reading.whole)
    found = repeats(list(wanted.values()))
    for position, index in enumerate(list(wanted)):
        if position in found:
            book.refuse(index, found[position])
            del wanted[index]
        else:
            book.warnings += wanted[index].draft.warnings
    return wanted


def decided(
    part: Sequence[tuple[tuple[int, Wanted], UUID | None]],
    stored: Mapping[UUID, CaseRecord],
    book: Book,
    usual: Usual | None,
) -> list[tuple[int, Wanted, Settled]]:
    """Settle some cases; those come back that would be written."""
    decided: list[tuple[int, Wanted, Settled]] = []
    for (index, one), case_id in part:
        try:
            becomes = settled(one, None if case_id is None else stored.get(case_id), usual)
        except ApiError as error:
            book.refuse(index, *_faults(one.draft, error.errors))
            continue
        if becomes.warning is not None:
            book.warnings.append(becomes.warning)
        if becomes.record is not None:
            decided.append((index, one, becomes))
    return decided


def _faults(draft: CaseDraft, errors: Sequence[FieldProblem]) -> Iterator[ImportProblem]:
    """Say what is wrong once a place: what reading said of a cell already is not said again.

    Nor is it said that a whole field is missing, which it is because it could not be read.
    """
    said = {(one.sheet, one.cell, one.path) for one in draft.problems}
    for error in errors:
        if said and error.path in _GIVEN and error.path not in draft.fields:
            continue
        found = draft.at(error.path, error.message)
        if (found.sheet, found.cell, found.path) not in said:
            yield found


def note(book: Book, index: int, one: Wanted, found: Findings) -> None:
    """Put down what the checks of a case found."""
    book.refuse(index, *(one.draft.at(problem.path, problem.message) for problem in found.problems))
    if not found.problems:
        book.warnings += [one.draft.at(warning.path, warning.message) for warning in found.warnings]


def outcome(reading: Reading, book: Book, *, dry_run: bool) -> ImportOutcome:
    """Add up what happened, or would have."""
    total = len(reading.drafts)
    created, updated = len(book.created), len(book.updated)
    skipped = total - created - updated
    return ImportOutcome(
        created=created,
        updated=updated,
        skipped=skipped,
        total=total,
        unchanged=skipped - len(book.problems),
        dry_run=dry_run,
        problems=_bounded([one for index in sorted(book.problems) for one in book.problems[index]]),
        warnings=_bounded(book.warnings),
    )


def _bounded(said: Sequence[ImportProblem]) -> tuple[ImportProblem, ...]:
    if len(said) <= _MOST_SAID:
        return tuple(said)
    more = len(said) - _MOST_SAID
    return (*said[:_MOST_SAID], ImportProblem(message=f"and {more:,} more, which are not listed"))
