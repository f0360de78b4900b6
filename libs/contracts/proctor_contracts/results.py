"""What grading says: three-way assertion results, scores as intervals, errors with a blame."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .base import Json, Wire
from .enums import Blame

__all__ = [
    "AssertionResult",
    "CaseError",
    "Criterion",
    "Evaluation",
    "Evidence",
    "JudgeVote",
    "Verdict",
    "Where",
]


class Verdict(StrEnum):
    """The answer of one assertion.

    `pending` waits for the judge; `unresolved` stays in the score as an interval; `not_applicable` leaves it.
    """

    PASSED = "passed"
    FAILED = "failed"
    UNRESOLVED = "unresolved"
    NOT_APPLICABLE = "not_applicable"
    PENDING = "pending"


class Where(Wire):
    """Where in the transcript something was seen: the entry's index and a short excerpt."""

    entry: int | None = None
    excerpt: str | None = None


class Evidence(Wire):
    """A quote that a judge gives; `verified` says whether it stands in the transcript."""

    turn: int | None = None
    quote: str
    verified: bool = False


class JudgeVote(Wire):
    """One answer of a judge model: a verdict word, or an error code where none could be read."""

    verdict: str
    basis: str | None = None
    reasoning: str = ""
    evidence: tuple[Evidence, ...] = ()
    injection_attempt: bool = False
    model: str | None = None
    error: str | None = None
    raw: str | None = None


class AssertionResult(Wire):
    """One line of the per-assertion table.

    `code` is stable (`no_agent_message`, `regex_timeout`, `judge_error`, ...) and set whenever the verdict is
    not a pass; `expected`, `seen` and `where` explain a failure. `passed` mirrors the verdict for readers of
    the first product: true, false, or null.
    """

    index: int
    kind: str
    ref: str | None = None
    weight: int = 1
    required: bool = False
    verdict: Verdict
    passed: bool | None = None
    code: str | None = None
    message: str = "ok"
    expected: str | None = None
    seen: str | None = None
    where: Where | None = None
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    notes: tuple[str, ...] = ()
    votes: tuple[JudgeVote, ...] = ()
    details: dict[str, Json] | None = None


class CaseError(Wire):
    """Why we could not find out: a stable code, what happened, what to do, whose fault."""

    code: str
    message: str
    blame: Blame


class Criterion(Wire):
    """One line of an evaluation."""

    name: str
    score: int | None
    comment: str


class Evaluation(Wire):
    """The graded case: `score` is null when it is only known as an interval."""

    score: int | None
    passed: bool | None
    score_min: int | None = None
    score_max: int | None = None
    criteria: tuple[Criterion, ...] = ()
    reasoning: str = ""
    suggestions: tuple[str, ...] = ()
