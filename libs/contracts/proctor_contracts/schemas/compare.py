"""Comparisons over REST: the same cases against a matrix of prompt versions and models."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from proctor_contracts.agents import JudgePolicy, JudgeSettings
from proctor_contracts.base import TYPED, SafeText, Strict, Wire
from proctor_contracts.diff import CategoryDiff, PairedTest
from proctor_contracts.enums import Provider, ResultStatus, Runner
from proctor_contracts.weather import WeatherText

from .common import Timestamp, Warning_
from .compare_until import CellStanding, UntilDecided
from .integrations import Model
from .runs import CaseFilter, RunView

__all__ = [
    "CellResult",
    "CellView",
    "CompareCell",
    "CompareCreate",
    "CompareDetail",
    "CompareRow",
    "CompareStatus",
    "CompareView",
    "PairVerdict",
    "PairView",
]

PoolName = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,32}$")]


class CompareStatus(StrEnum):
    """The life of a comparison; it is over when every cell is."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class CompareCell(Strict):
    """One column of the matrix; what is left out comes from the agent: current version, default model."""

    prompt_version_id: UUID | None = None
    provider: Provider | None = None
    model: Model | None = None
    pool: PoolName | None = None


class CompareCreate(Strict):
    """Play the same cases in every cell: `caseIds`, a `caseFilter`, or all active ones.

    `baseline` is the place of the cell that the others are held against. The budget is split equally, what is
    left of the division one cent each to the first cells. With `untilDecided`, trials are spent in rounds
    until every cell is decided. The other fields are as those of a run.
    """

    matrix: Annotated[tuple[CompareCell, ...], Field(min_length=1, max_length=20)]
    baseline: Annotated[int, Field(ge=0, le=19), TYPED] = 0
    case_ids: Annotated[tuple[UUID, ...], Field(max_length=10_000)] | None = None
    case_filter: CaseFilter | None = None
    budget_cents: Annotated[int, Field(ge=1, le=100_000_000), TYPED] | None = None
    budget_mode: Literal["enforce", "best_effort"] = "enforce"
    score_threshold: Annotated[int, Field(ge=0, le=100), TYPED] | None = None
    runner: Runner = Runner.SCRIPTED
    dry_run: bool = True
    retries_on_failure: Annotated[int, Field(ge=0, le=5), TYPED] = 0
    repeats: Annotated[int, Field(ge=1, le=20), TYPED] = 1
    concurrency: Annotated[int, Field(ge=1, le=1000), TYPED] | None = None
    judge: JudgeSettings | None = None
    judge_policy: JudgePolicy = "always"
    on_tool_error: Literal["error", "continue"] = "continue"
    weather: Annotated[tuple[WeatherText, ...], Field(max_length=20)] = ()
    case_timeout_ms: Annotated[int, Field(ge=1_000, le=1_800_000), TYPED] | None = None
    until_decided: UntilDecided | None = None
    tags: Annotated[
        tuple[Annotated[SafeText, Field(min_length=1, max_length=64)], ...], Field(max_length=50)
    ] = ()


class CellView(Wire):
    """A cell with its run, null once that was deleted; `runIds` names its further ones too, in order."""

    index: int
    label: str
    prompt_version_id: UUID
    version_number: int
    provider: Provider
    model: str | None
    pool: str
    budget_cents: float | None
    run_id: UUID
    run_ids: tuple[UUID, ...]
    run: RunView | None


class CompareView(Wire):
    """A comparison with its cells and their live counters."""

    id: UUID
    agent_id: UUID
    integration_id: UUID
    status: CompareStatus
    baseline: int
    cases: int
    budget_cents: float | None
    cells: tuple[CellView, ...]
    until_decided: UntilDecided | None = None
    warnings: tuple[Warning_, ...] = ()
    created_at: Timestamp
    completed_at: Timestamp | None


class CellResult(Wire):
    """A case in one cell, by its first attempts; null statuses are cases that the cell does not have."""

    status: ResultStatus | None
    score: int | None
    passed: int
    graded: int
    trials: int
    flaky: bool


class CompareRow(Wire):
    """A case in every cell, in the order of the cells; `differs` when the cells do not end alike."""

    case_id: UUID
    case_ref: str | None
    case_name: str
    category: str
    critical: bool
    differs: bool
    cells: tuple[CellResult, ...]


class PairVerdict(StrEnum):
    """What a pair of cells showed; `better` and `worse` are said of the second cell."""

    BETTER = "better"
    WORSE = "worse"
    NO_EVIDENCE = "no_evidence"
    NOT_COMPARABLE = "not_comparable"


class PairView(Wire):
    """The paired test of two cells, `a` before `b`.

    `adjusted` is the p value after Holm over its family: the pairs with the baseline, or all the others.
    `verdict` goes by it; `summary` says it in words, and without evidence what could have been shown.
    """

    a: int
    b: int
    with_baseline: bool
    verdict: PairVerdict
    summary: str
    coverage: float
    adjusted: float | None
    test: PairedTest | None
    broken: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    categories: tuple[CategoryDiff, ...] = ()


class CompareDetail(CompareView):
    """A comparison whole: cases side by side, those that differ first, and every pair of cells.

    `rows` is a page of `rowsTotal`. Pairs are tested once every cell is over: a test that is read again and
    again until it says something would say it too often. With `untilDecided` there are `standings` instead,
    which may be read at any time.
    """

    rows: tuple[CompareRow, ...]
    rows_total: int
    pairs: tuple[PairView, ...]
    standings: tuple[CellStanding, ...] = ()
