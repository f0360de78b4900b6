"""Which stored case each imported one is, and what becomes of it; decided without touching anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from proctor_casefiles.drafts import CaseDraft
from proctor_contracts.cases import CaseFields
from proctor_contracts.schemas.imports import ImportProblem
from proctor_store.repositories.cases import CaseIdentity, CaseRecord

from .case_rows import as_stored, case_fields, new_record, rewritten

__all__ = ["Settled", "Usual", "Wanted", "matched", "repeats", "settled", "unclaimed"]

Usual = Callable[[CaseFields], tuple[Mapping[str, Any], ...] | None]
"""Makes the usual checks of a case from its category and description, as an importer does."""

KEPT = "has checks of its own, which are kept; to replace them, import the file with a column of checks"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A case that a file asks for, valid by itself, as a new row would hold it.

    `given` are the columns that the file speaks of; with `whole` it speaks of all.
    """

    draft: CaseDraft
    record: CaseRecord
    given: Collection[str]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of a case: a row to write, or None where it is there already just so."""

    record: CaseRecord | None
    new: bool
    warning: ImportProblem | None = None


def repeats(wanted: Sequence[Wanted]) -> Mapping[int, ImportProblem]:
    """Find cases that are in the file twice: by ref, or by name and input where they have none."""
    seen: dict[object, int] = {}
    found: dict[int, ImportProblem] = {}
    for index, one in enumerate(wanted):
        ref = one.record.ref
        first = seen.setdefault((one.record.name, repr(one.record.input)) if ref is None else ref, index)
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


def unclaimed(wanted: Sequence[Wanted], known: Sequence[CaseIdentity]) -> set[UUID]:
    """List the stored cases that only their name and input may tell, since no ref names them."""
    stored_refs = {one.ref for one in known if one.ref is not None}
    names = {one.record.name for one in wanted if one.record.ref is None or one.record.ref not in stored_refs}
    return {one.id for one in known if one.name in names}


def matched(
    wanted: Sequence[Wanted], known: Sequence[CaseIdentity], inputs: Mapping[UUID, Mapping[str, Any]]
) -> list[UUID | None]:
    """Find the stored row of each case: by ref, else by name; `inputs` are those of the unclaimed.

    A case without a ref is the stored one of its name, of several that with its input. One with a new ref
    takes the stored one without a ref that has its name and input: somebody has numbered the file since.
    """
    by_ref = {one.ref: one.id for one in known if one.ref is not None}
    by_name: dict[str, list[CaseIdentity]] = {}
    for stored in known:
        if stored.id in inputs:
            by_name.setdefault(stored.name, []).append(stored)
    namesakes = Counter(one.record.name for one in wanted if one.record.ref is None)
    matches = [None if one.record.ref is None else by_ref.get(one.record.ref) for one in wanted]
    taken = {match for match in matches if match is not None}
    for index, one in enumerate(wanted):
        if matches[index] is not None:
            continue
        free = [stored for stored in by_name.get(one.record.name, ()) if stored.id not in taken]
        nameless = [stored for stored in free if stored.ref is None]
        if one.record.ref is not None:
            free = [stored for stored in nameless if inputs[stored.id] == one.record.input]
        else:
            free = nameless or free
            if len(free) > 1 or namesakes[one.record.name] > 1:
                free = [stored for stored in free if inputs[stored.id] == one.record.input]
        if free:
            matches[index] = free[0].id
            taken.add(free[0].id)
    return matches


def settled(one: Wanted, stored: CaseRecord | None, usual: Usual | None) -> Settled:
    """Put what the file says over what is stored; what the file does not speak of stays.

    Made-up checks replace made-up checks only, never those that somebody wrote: then a warning comes back.

    Raises:
        ApiError: 413 when the case became too large.
    """
    if stored is None:
        return Settled(one.record, new=True)
    columns = as_columns(one.record) if one.whole else {name: getattr(one.record, name) for name in one.given}
    if columns.get("ref") is None:
        columns.pop("ref", None)
    if columns.get("rubric", "") is None and stored.rubric == "":
        del columns["rubric"]  # a file cannot tell an empty text from none
    differing = {name for name, value in columns.items() if getattr(stored, name) != value}
    warning = None
    made_up = one.draft.typical is not None and usual is not None
    if made_up and "assertions" in differing and not _made_up(case_fields(stored), usual):
        differing.discard("assertions")
        warning = one.draft.at("assertions", KEPT)
    if not differing:
        return Settled(None, new=False, warning=warning)
    asked = case_fields(one.record)
    update = {name: getattr(asked, name) for name in differing}
    record = new_record(
        case_fields(stored).model_copy(update=update),
        account_id=stored.account_id,
        integration_id=stored.integration_id,
        now=one.record.updated_at,
    )
    result = rewritten(stored, record)
    return Settled(None if result is stored else result, new=False, warning=warning)


def as_columns(record: CaseRecord) -> dict[str, Any]:
    """Take what an author says of a case; not the text that it is searched by, which follows from it."""
    return {name: getattr(record, name) for name in CaseFields.model_fields}


def _made_up(case: CaseFields, usual: Usual | None) -> bool:
    made = None if usual is None else usual(case)
    if made is None:
        return False
    typical = case.model_copy(update={"assertions": _assertions(case, made)})
    return bool(as_stored(typical)["assertions"] == as_stored(case)["assertions"])


def _assertions(case: CaseFields, made: Sequence[Mapping[str, Any]]) -> Any:
    shape = {"name": case.name, "category": case.category, "input": case.input, "assertions": made}
    return CaseFields.model_validate(shape).assertions
