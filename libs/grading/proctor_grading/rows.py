"""One result of a run as summaries, gate and comparison read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from proctor_contracts.enums import Priority, ResultStatus
from proctor_contracts.transcript import Usage

__all__ = ["ResultRow"]

_MADE_UP = re.compile("case-[0-9a-f]{10}")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A case and trial of a run.

    `first_status` is the verdict of the first attempt (None before it is graded), `score` is None when it is
    only known as an interval. `latencies_ms` has one value per user turn; `cost_micro_usd` covers all
    attempts and the judge, None when a price is unknown.
    """

    case_id: UUID
    name: str
    category: str
    status: ResultStatus
    first_status: ResultStatus | None = None
    ref: str | None = None
    trial: int = 1
    priority: Priority = Priority.MEDIUM
    weight: int = 1
    tags: tuple[str, ...] = ()
    critical: bool = False
    score: int | None = None
    flaky: bool = False
    latencies_ms: tuple[int, ...] = ()
    usage: Usage | None = None
    judge_usage: Usage | None = None
    cost_micro_usd: int | None = 0
    error_code: str | None = None
    needs_review: bool = False

    @property
    def first(self) -> ResultStatus:
        """The status that rates are made of: the first attempt's, or the result's own where there was one."""
        return self.first_status or self.status

    @property
    def counted_score(self) -> int | None:
        """The score, where it may enter an average."""
        return self.score if self.status in {ResultStatus.PASSED, ResultStatus.FAILED} else None

    @property
    def label(self) -> str:
        """How a summary names this case."""
        return self.ref or self.name

    @property
    def named(self) -> str:
        """How a sentence names this case: a ref that was made up of the name says nothing without it."""
        made_up = self.ref is not None and _MADE_UP.fullmatch(self.ref)
        return f"{self.name} ({self.ref})" if made_up else self.label
