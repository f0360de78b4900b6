"""Which cases of a suite are run, and with what; pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from proctor_contracts.agents import JudgeSettings
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Provider, Runner, Trigger
from proctor_contracts.schemas.runs import RunCreate

from .exits import ExitCode, Stop
from .suite.model import Suite
from .suite.problems import suggestion

__all__ = ["CONCURRENCY", "Filters", "Overrides", "run_request", "selected"]

CONCURRENCY = 50
"""Conversations at a time where nobody said: stated, so that no pool's size decides for a bot on a laptop."""


_OVERRIDABLE = (
    "repeats", "retries_on_failure", "concurrency", "budget_cents", "provider", "model",
    "runner", "dry_run", "on_tool_error", "weather",
)  # fmt: skip
_OF_THE_SUITE = ("score_threshold", "budget_mode", "judge_policy", "case_timeout_ms", "pool")


@dataclass(frozen=True, slots=True)
class Filters:
    """What to keep: any of the values of a kind, all kinds together."""

    refs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.refs or self.tags or self.categories)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says over the suite; None leaves the suite's value."""

    repeats: int | None = None
    retries_on_failure: int | None = None
    concurrency: int | None = None
    budget_cents: float | None = None
    provider: Provider | None = None
    model: str | None = None
    runner: Runner | None = None
    dry_run: bool | None = None
    on_tool_error: Literal["error", "continue"] | None = None
    weather: tuple[str, ...] | None = None
    judge: JudgeSettings | None = None
    tags: tuple[str, ...] = field(default=())


def selected(suite: Suite, filters: Filters) -> tuple[int, ...]:
    """Choose the indexes of active cases that the filters keep.

    Raises:
        Stop: when a named ref is not in the suite (usage), or nothing is left to run (undecided).
    """
    known = {case.ref or "" for case in suite.cases}
    refs, tags, categories = (set(map(_folded, kind)) for kind in _kinds(filters))
    for ref in sorted(refs - known):
        raise Stop(ExitCode.USAGE, f"no case {ref!r} in {suite.name}; {_hint(ref, known)}")
    kept = tuple(
        index
        for index, case in enumerate(suite.cases)
        if case.is_active and _keeps(case, refs=refs, tags=tags, categories=categories)
    )
    if not kept:
        raise Stop(ExitCode.UNDECIDED, _nothing(suite, filters))
    return kept


def _kinds(filters: Filters) -> tuple[Sequence[str], ...]:
    return filters.refs, filters.tags, filters.categories


def _keeps(
    case: CaseFields, *, refs: Collection[str], tags: Collection[str], categories: Collection[str]
) -> bool:
    return (
        (not refs or case.ref in refs)
        and (not tags or any(_folded(tag) in tags for tag in case.tags))
        and (not categories or case.category in categories)
    )


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _hint(ref: str, known: Collection[str]) -> str:
    hint = suggestion(ref, known)
    return hint if hint.startswith("did") else f"it has {len(known)} cases"


def _nothing(suite: Suite, filters: Filters) -> str:
    asked = [
        f"{name} {', '.join(values)}"
        for name, values in zip(("ref", "tag", "category"), _kinds(filters), strict=True)
        if values
    ]
    active = sum(case.is_active for case in suite.cases)
    if not active:
        return f"nothing was measured: none of the {len(suite.cases)} cases of {suite.name} is active"
    categories = sorted({case.category for case in suite.cases})
    tags = sorted({tag for case in suite.cases for tag in case.tags})
    return (
        f"nothing was measured: none of the {active} active cases of {suite.name} has {' and '.join(asked)}; "
        f"its categories are {', '.join(categories)}; its tags are {', '.join(tags) or 'none'}"
    )


def run_request(
    suite: Suite, overrides: Overrides, *, integration_id: UUID, case_ids: Sequence[UUID], trigger: Trigger
) -> RunCreate:
    """Put suite and command line together into the request that starts the run."""
    settings = suite.header.run
    if overrides.runner is Runner.SCRIPTED:
        # The suite's words about tools belong to its own runner; those of the command line are meant.
        settings = settings.model_copy(update={"weather": (), "on_tool_error": "continue"})
    chosen = {
        name: getattr(overrides, name) if getattr(overrides, name) is not None else getattr(settings, name)
        for name in _OVERRIDABLE
    }
    chosen["concurrency"] = chosen["concurrency"] or CONCURRENCY
    asked = (
        chosen
        | {name: getattr(settings, name) for name in _OF_THE_SUITE}
        | {"judge": overrides.judge or suite.header.judge, "tags": (*settings.tags, *overrides.tags)}
    )
    # What nobody set is left out, so that the platform's own default holds.
    given = {name: value for name, value in asked.items() if value is not None}
    return RunCreate(
        integration_id=integration_id,
        case_ids=tuple(case_ids),
        gate=suite.header.gate,
        trigger=trigger,
        **given,
    )
