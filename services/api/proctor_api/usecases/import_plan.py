"""Which stored case each imported one is, and what becomes of it; decided without touching anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from proctor_casefiles.drafts import CaseDraft
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.imports import ImportProblem
from proctor_store.repositories.cases import CaseRecord

from .case_rows import as_stored, case_fields

__all__ = ["Usual", "Wanted", "matched", "merged", "repeats"]

Usual = Callable[[CaseFields], tuple[Mapping[str, Any], ...] | None]
"""Makes the usual checks of a case from its category and description, as an importer does."""

KEPT = "has checks of its own, which are kept"
REPLACE = "; to replace them, import the file with a column of checks"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A case that a file asks for: valid by itself. `given` are the fields that the file speaks of."""

    draft: CaseDraft
    case: CaseFields
    given: frozenset[str]
    whole: bool = False


def repeats(wanted: Sequence[Wanted]) -> Mapping[int, ImportProblem]:
    """Find cases that are in the file twice: by ref, or by name and input where they have none."""
    seen: dict[object, int] = {}
    found: dict[int, ImportProblem] = {}
    for index, one in enumerate(wanted):
        ref = one.case.ref
        first = seen.setdefault(_identity(one.case) if ref is None else ref, index)
        if first == index:
            continue
        where = wanted[first].draft
        if ref is None:
            message = f"{where.place} has a case of this name with this input already; give them refs"
            found[index] = one.draft.at("name", message)
        else:
            found[index] = one.draft.at(
                "ref", f"{where.place} has the ref {ref!r} already; a ref names one case"
            )
    return found


def matched(wanted: Sequence[Wanted], known: Sequence[CaseRecord]) -> list[CaseRecord | None]:
    """Find the stored row of each case: by ref, else by name.

    A case without a ref is the stored one of its name, of several that with its input. One with a new ref
    takes the stored one without a ref that has its name and input: somebody has numbered the file since.
    """
    by_ref = {record.ref: record for record in known if record.ref is not None}
    by_name: dict[str, list[CaseRecord]] = {}
    for record in known:
        by_name.setdefault(record.name, []).append(record)
    namesakes: dict[str, int] = {}
    for one in wanted:
        if one.case.ref is None:
            namesakes[one.case.name] = namesakes.get(one.case.name, 0) + 1
    matches = [None if one.case.ref is None else by_ref.get(one.case.ref) for one in wanted]
    taken: set[UUID] = {record.id for record in matches if record is not None}
    for index, one in enumerate(wanted):
        if matches[index] is not None:
            continue
        free = [record for record in by_name.get(one.case.name, ()) if record.id not in taken]
        if one.case.ref is not None:
            free = [record for record in free if record.ref is None and _same_input(one.case, record)]
        else:
            free = [record for record in free if record.ref is None] or free
            if len(free) > 1 or namesakes[one.case.name] > 1:
                free = [record for record in free if _same_input(one.case, record)]
        if free:
            matches[index] = free[0]
            taken.add(free[0].id)
    return matches


def merged(
    one: Wanted, stored: CaseRecord | None, usual: Usual | None
) -> tuple[CaseFields, ImportProblem | None]:
    """Put what the file says over what is stored; what the file does not speak of stays.

    Made-up checks replace made-up checks only, never those that somebody wrote: then a warning comes back.
    """
    if stored is None:
        return one.case, None
    ref = one.case.ref or stored.ref
    if one.whole:
        return one.case.model_copy(update={"ref": ref}), None
    before = case_fields(stored)
    given = set(one.given)
    warning = None
    if one.draft.typical is not None and usual is not None and not _made_up(before, usual):
        given.discard("assertions")
        if as_stored(one.case)["assertions"] != stored.assertions:
            warning = one.draft.at("assertions", KEPT if one.draft.sheet is None else KEPT + REPLACE)
    if one.case.rubric is None and before.rubric == "":
        given.discard("rubric")  # a file cannot tell an empty text from none
    update = {name: getattr(one.case, name) for name in given}
    return before.model_copy(update=update | {"ref": ref}), warning


def _made_up(case: CaseFields, usual: Usual) -> bool:
    made = usual(case)
    if made is None:
        return False
    typical = CaseFields.model_validate(
        {"name": case.name, "category": case.category, "input": case.input, "assertions": made}
    )
    return typical.assertions == case.assertions


def _identity(case: CaseFields) -> tuple[str, str]:
    return case.name, case.input.model_dump_json()


def _same_input(case: CaseFields, record: CaseRecord) -> bool:
    return bool(as_stored(case)["input"] == record.input)
