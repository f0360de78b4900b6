"""Grades an attempt's deterministic assertions: cheap ones in place, the rest on the one grading thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from proctor_contracts.assertions import Assertion
from proctor_contracts.cases import CaseSnapshot
from proctor_contracts.results import AssertionResult
from proctor_contracts.transcript import TranscriptEntry
from proctor_grading.context import GradingContext
from proctor_grading.engine import budget_results, grade

__all__ = ["Grader", "cheap"]

_PLAIN = frozenset(
    {"contains", "not_contains", "contains_all", "contains_any", "outcome", "latency", "cost", "judge"}
)
_CHEAP_TEXT = 20_000
"""Characters of a transcript up to which plain checks are quicker than a change of thread."""


class Grader:
    """Runs the grading engine.

    `thread` is the one thread of the process on which JavaScript expressions are evaluated: their time limit
    counts the whole process, so two evaluations must never run at once, and none on the event loop.
    """

    def __init__(self, *, thread: Executor) -> None:
        self._thread = thread

    async def grade(
        self, case: CaseSnapshot, transcript: Sequence[TranscriptEntry], context: GradingContext
    ) -> tuple[AssertionResult, ...]:
        """Grade every assertion and the case's own budget; judge assertions come back pending."""
        if cheap(case.assertions, transcript):
            return _grade(case, transcript, context)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _grade, case, transcript, context)


def cheap(assertions: Sequence[Assertion], transcript: Sequence[TranscriptEntry]) -> bool:
    """Whether grading takes less time than handing it to another thread, whatever the texts hold."""
    return (
        all(
            assertion.kind in _PLAIN or (assertion.kind == "tool_call" and assertion.args_regex is None)
            for assertion in assertions
        )
        and sum(len(entry.content) for entry in transcript) <= _CHEAP_TEXT
    )


def _grade(
    case: CaseSnapshot, transcript: Sequence[TranscriptEntry], context: GradingContext
) -> tuple[AssertionResult, ...]:
    results = grade(case.assertions, transcript, context)
    return results + budget_results(case.budget, transcript, context, start=len(results))
