"""What a case's checks by code say of a mutant, when a judge and a real run could still say more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from proctor_contracts.cases import CaseBudget, CaseFields
from proctor_contracts.enums import ResultStatus
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.schemas.bite import MutantStatus
from proctor_grading.context import GradingContext
from proctor_grading.engine import budget_results, grade
from proctor_grading.scoring import Score, best_possible, decide, score

from .mutant import Mutant, Original

__all__ = ["Judged", "judged"]

_UNCHANGED = frozenset({"latency", "cost"})
_OPEN = frozenset({Verdict.PENDING, Verdict.UNRESOLVED})


@dataclass(frozen=True, slots=True)
class Judged:
    """The status of a mutant, with the results behind it and the case's points."""

    status: MutantStatus
    results: tuple[AssertionResult, ...]
    points: Score

    @property
    def failing(self) -> tuple[AssertionResult, ...]:
        """The checks that do fail."""
        return tuple(one for one in self.results if one.verdict is Verdict.FAILED)

    @property
    def open(self) -> tuple[AssertionResult, ...]:
        """The checks that say nothing yet."""
        return tuple(one for one in self.results if one.verdict in _OPEN)


def judged(mutant: Mutant, original: Original, context: GradingContext, *, threshold: int) -> Judged:
    """Grade a mutant with the checks by code, and see whether the others could still change the end.

    Time, cost, and an unknown prompt are as they were for the original, and so is what was written when the
    calls are the same; an agent without calls wrote nothing.
    """
    keeps = mutant.keeps_calls(original)
    known = replace(
        context,
        tools_captured=True,
        outcomes=mutant.outcomes,
        effects=None if mutant.calls else (),
    )
    results = grade(original.case.assertions, mutant.transcript, known)
    results += _budget(original.case, mutant, known, start=len(results))
    results = tuple(_as_before(one, keeps_calls=keeps) for one in results)
    return Judged(_status(results, threshold), results, score(results))


def _budget(
    case: CaseFields, mutant: Mutant, context: GradingContext, *, start: int
) -> tuple[AssertionResult, ...]:
    if case.budget is None or case.budget.max_tool_calls is None:
        return ()
    calls = CaseBudget(max_tool_calls=case.budget.max_tool_calls)
    return budget_results(calls, mutant.transcript, context, start=start)


def _as_before(result: AssertionResult, *, keeps_calls: bool) -> AssertionResult:
    if result.verdict is not Verdict.UNRESOLVED:
        return result
    same = (
        result.kind in _UNCHANGED
        or result.code == "no_prompt"
        or (result.code == "no_effect_ledger" and keeps_calls)
    )
    return _passing(result) if same else result


def _passing(result: AssertionResult) -> AssertionResult:
    return result.model_copy(update={"verdict": Verdict.PASSED, "passed": True})


def _status(results: Sequence[AssertionResult], threshold: int) -> MutantStatus:
    if best_possible(results, threshold) is not None:
        return MutantStatus.KILLED
    if decide(results, threshold).status is ResultStatus.PASSED:
        return MutantStatus.SURVIVED
    if not any(one.verdict is Verdict.PENDING for one in results):
        return MutantStatus.UNDECIDED
    lenient = [_passing(one) if one.verdict is Verdict.UNRESOLVED else one for one in results]
    alone = decide(lenient, threshold).status is ResultStatus.PASSED
    return MutantStatus.UNDECIDED if alone else MutantStatus.LEFT_TO_JUDGE
