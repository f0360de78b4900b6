"""How well a case's checks bite: which wrong conversations, made from its reference, they let through."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from proctor_contracts.base import Strict, Wire
from proctor_contracts.cases import Category, Tag

__all__ = [
    "BiteOutcome",
    "BiteReport",
    "BiteRequest",
    "BiteSummary",
    "CaseBite",
    "KindTally",
    "MutantKind",
    "MutantStatus",
    "MutantView",
    "SkippedMutants",
    "Suggestion",
]


class MutantKind(StrEnum):
    """What was made wrong."""

    TOOL_CALL_DROPPED = "tool_call_dropped"
    TOOL_ARGUMENT_CHANGED = "tool_argument_changed"
    PROMISE_REVERSED = "promise_reversed"
    MEANING_NEGATED = "meaning_negated"
    WRONG_LANGUAGE = "wrong_language"
    PROMPT_LEAKED = "prompt_leaked"
    EMPTY_REPLY = "empty_reply"
    DOES_NOTHING = "does_nothing"


class MutantStatus(StrEnum):
    """What the case's checks by code say of a mutant.

    `killed`: the case fails. `survived`: it passes. `left_to_judge`: only a judge can fail it.
    `undecided`: only a real run can tell, since a check reads what a text on paper has not.
    """

    KILLED = "killed"
    SURVIVED = "survived"
    LEFT_TO_JUDGE = "left_to_judge"
    UNDECIDED = "undecided"


class BiteOutcome(StrEnum):
    """What came of a case.

    `no_reference` has no score; what is listed was made from the checks alone. `reference_fails` is a case
    whose own reference does not pass, so that nothing can be made of it.
    """

    SCORED = "scored"
    NOTHING_DECIDED = "nothing_decided"
    NO_REFERENCE = "no_reference"
    REFERENCE_FAILS = "reference_fails"


class Suggestion(Wire):
    """What would make the case fail this mutant; `assertion` can be added as it is, where one would."""

    message: str
    assertion: dict[str, Any] | None = None


class MutantView(Wire):
    """One mutant: what was changed, why the case should fail it, and the checks that did fail."""

    name: str
    kind: MutantKind
    change: str
    why: str
    status: MutantStatus
    failed: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    suggestion: Suggestion | None = None


class SkippedMutants(Wire):
    """A kind of mutant that does not apply to the case, and so does not count."""

    kind: MutantKind
    reason: str


class CaseBite(Wire):
    """One case: `score` (0-100) is the share of `killed` in `killed` and `survived`, null without either."""

    case_id: UUID | None = None
    ref: str | None
    name: str
    category: str
    outcome: BiteOutcome
    message: str
    score: int | None
    killed: int
    survived: int
    left_to_judge: int
    undecided: int
    mutants: tuple[MutantView, ...] = ()
    skipped: tuple[SkippedMutants, ...] = ()


class KindTally(Wire):
    """One kind of mutant over all scored cases."""

    kind: MutantKind
    killed: int
    survived: int
    left_to_judge: int
    undecided: int


class BiteSummary(Wire):
    """Many cases: `score` is over the mutants of scored cases; `with_survivors` counts all that list one."""

    cases: int
    score: int | None
    killed: int
    survived: int
    left_to_judge: int
    undecided: int
    scored: int
    nothing_decided: int
    no_reference: int
    reference_fails: int
    with_survivors: int
    kinds: tuple[KindTally, ...] = ()


class BiteReport(Wire):
    """A suite's or an integration's cases, the weakest first."""

    summary: BiteSummary
    cases: tuple[CaseBite, ...]


class BiteRequest(Strict):
    """Which cases of an integration, `without` which kinds of mutants.

    Killed mutants are left out of the answer unless `full`.
    """

    integration_id: UUID
    case_ids: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=2_000)] | None = None
    category: Category | None = None
    tag: Tag | None = None
    without: Annotated[tuple[MutantKind, ...], Field(max_length=20)] = ()
    full: bool = False
