"""What a run may be compared with: first attempts by category, and what the providers said they were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from proctor_contracts.alerts import ModelChange
from proctor_contracts.enums import ResultStatus

from .regression import Scores

__all__ = ["FirstAttempts", "Providers", "first_attempt", "model_changes"]

_GRADED = frozenset({ResultStatus.PASSED.value, ResultStatus.FAILED.value})


def first_attempt(history: Sequence[Sequence[Any]]) -> int | None:
    """Return the score of a result's first attempt; None when it is not known how good it was.

    `history` is the stored one, `[status, score, …]` for each attempt. Errors, cases that could not be
    decided and those whose judge was spared say nothing of the bot's quality.
    """
    if not history:
        return None
    status, score = history[0][0], history[0][1]
    return int(score) if status in _GRADED and score is not None else None


class FirstAttempts:
    """Gathers the graded first attempts of runs, by run, category and case, from rows in any order."""

    def __init__(self) -> None:
        self._runs: dict[UUID, dict[str, dict[UUID, list[int]]]] = {}

    def add(self, run: UUID, category: str, case: UUID, history: Sequence[Sequence[Any]]) -> None:
        """Count one result; the category is the one that the case had in that run."""
        if (score := first_attempt(history)) is not None:
            cases = self._runs.setdefault(run, {}).setdefault(category, {})
            cases.setdefault(case, []).append(score)

    def of(self, run: UUID) -> dict[str, Scores]:
        """Return a run's scores by category; categories without a graded result are not among them."""
        return dict(self._runs.get(run, {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """What the providers of a run's agent and judge said they answered with."""

    agent_models: Sequence[str] = ()
    judge_models: Sequence[str] = ()
    agent_fingerprints: Sequence[str] = ()
    judge_fingerprints: Sequence[str] = ()


_WATCHED: Iterable[tuple[Literal["agent", "judge"], Literal["model", "fingerprint"], str]] = (
    ("agent", "model", "agent_models"),
    ("agent", "fingerprint", "agent_fingerprints"),
    ("judge", "model", "judge_models"),
    ("judge", "fingerprint", "judge_fingerprints"),
)


def model_changes(before: Providers, now: Providers) -> tuple[ModelChange, ...]:
    """Name what answered in this run and did not in the run before.

    A run that met only some of the earlier ones shows no change: providers spread calls over several. Where
    nothing was reported before, or nothing now, there is nothing to compare.
    """
    changes = []
    for role, what, name in _WATCHED:
        old, new = sorted(set(getattr(before, name))), sorted(set(getattr(now, name)))
        if old and not set(new) <= set(old):
            changes.append(ModelChange(role=role, what=what, before=tuple(old), now=tuple(new)))
    return tuple(changes)
