"""The bite score of a case: how many wrong conversations its checks by code fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from uuid import UUID

from proctor_contracts.cases import CaseFields
from proctor_contracts.results import Verdict
from proctor_contracts.schemas.bite import (
    BiteOutcome,
    CaseBite,
    MutantKind,
    MutantStatus,
    MutantView,
    SkippedMutants,
)
from proctor_grading.context import GradingContext
from proctor_grading.reference import check_reference
from proctor_grading.statistics import half_up

from .advice import advice, check_name
from .mutant import Made, Mutant, Original
from .original import from_reference, sketch
from .texts import broken_promise, courteous, foreign, leaking, negated, silent
from .tools import dropped, rearranged
from .verdicts import Judged, judged

__all__ = ["DEFAULT_THRESHOLD", "bite", "mutants"]

DEFAULT_THRESHOLD = 70
_OF_CALLS: tuple[Callable[[Original], Made], ...] = (dropped, rearranged)
_OF_WORDS: tuple[Callable[[Original], Made], ...] = (
    broken_promise,
    negated,
    foreign,
    leaking,
    silent,
    courteous,
)
_OF_SKETCHES = (negated, foreign, silent, courteous)
_HOW = "add reference: {messages: [{content: …, toolCalls: […]}], outcomes: {…}} that solves the case"


def mutants(
    original: Original, *, without: Collection[MutantKind] = ()
) -> tuple[tuple[Mutant, ...], tuple[SkippedMutants, ...]]:
    """Make every mutant of a conversation but those of some kinds, and say which kinds do not apply.

    Of a sketch, calls are left alone: they were made from the checks, which find them missing for certain.
    """
    made: list[Mutant] = []
    left: list[SkippedMutants] = []
    for make in _OF_SKETCHES if original.sketched else (*_OF_CALLS, *_OF_WORDS):
        match make(original):
            case SkippedMutants() as reason:
                left.append(reason)
            case found:
                made += (one for one in found if _differs(one, original))
    return (
        tuple(one for one in made if one.kind not in without),
        tuple(one for one in left if one.kind not in without),
    )


def bite(
    case: CaseFields,
    context: GradingContext,
    *,
    run_threshold: int | None = None,
    without: Collection[MutantKind] = (),
    case_id: UUID | None = None,
) -> CaseBite:
    """Say which mutants of a case's reference its checks by code let through.

    `context` gives the engines and the agent's prompt; `run_threshold` is what a case without a threshold of
    its own must reach (70 if None); mutants of kinds in `without` are not made. Blocks while patterns run, as
    `grade` does.
    """
    threshold = next(one for one in (case.threshold, run_threshold, DEFAULT_THRESHOLD) if one is not None)
    if case.reference is None:
        return _sketched(case, context, threshold, without=without, case_id=case_id)
    if failing := check_reference(case, context):
        said = "; ".join(f"{check_name(one)}: {one.message}" for one in failing)
        message = f"the reference does not pass the case's own checks: {said}"
        return _view(case, case_id, BiteOutcome.REFERENCE_FAILS, message)
    original = from_reference(case, case.reference, regex=context.regex, prompt=context.prompt)
    found, left = mutants(original, without=without)
    views = tuple(_graded(one, original, context, threshold) for one in found)
    counts = Counter(one.status for one in views)
    decided = counts[MutantStatus.KILLED] + counts[MutantStatus.SURVIVED]
    if not decided:
        message = "no check by code decides anything here: everything is left to the judge, or to a real run"
        return _view(case, case_id, BiteOutcome.NOTHING_DECIDED, message, views=views, left=left)
    message = f"{counts[MutantStatus.KILLED]} of {decided} wrong conversations fail"
    return _view(case, case_id, BiteOutcome.SCORED, message, views=views, left=left)


def _sketched(
    case: CaseFields,
    context: GradingContext,
    threshold: int,
    *,
    without: Collection[MutantKind],
    case_id: UUID | None,
) -> CaseBite:
    """Look at a case without a reference: what do its checks alone let through."""
    outcome = BiteOutcome.NO_REFERENCE
    original = sketch(case, regex=context.regex, prompt=context.prompt)
    found, left = mutants(original, without=without)
    right = judged(
        Mutant(MutantKind.DOES_NOTHING, "", "", "", original.transcript, original.outcomes),
        original,
        context,
        threshold=threshold,
    )
    if right.failing or any(one.verdict is Verdict.UNRESOLVED for one in right.open):
        return _view(case, case_id, outcome, f"there is no reference, so there is no score; {_HOW}")
    views = tuple(_graded(one, original, context, threshold) for one in found)
    alone = tuple(one for one in views if one.status is not MutantStatus.KILLED)
    message = f"there is no reference, so there is no score; {_HOW}"
    if any(one.status is MutantStatus.SURVIVED for one in alone):
        message += "; its checks alone let through what is listed"
    return _view(case, case_id, outcome, message, views=alone, left=left)


def _graded(mutant: Mutant, original: Original, context: GradingContext, threshold: int) -> MutantView:
    found: Judged = judged(mutant, original, context, threshold=threshold)
    survived = found.status is MutantStatus.SURVIVED
    return MutantView(
        name=mutant.name,
        kind=mutant.kind,
        change=mutant.change,
        why=mutant.why,
        status=found.status,
        failed=tuple(check_name(one) for one in found.failing),
        open=tuple(check_name(one) for one in found.open),
        suggestion=advice(mutant, original, found, threshold=threshold) if survived else None,
    )


def _differs(mutant: Mutant, original: Original) -> bool:
    return (mutant.transcript, dict(mutant.outcomes)) != (original.transcript, dict(original.outcomes))


def _view(
    case: CaseFields,
    case_id: UUID | None,
    outcome: BiteOutcome,
    message: str,
    *,
    views: Sequence[MutantView] = (),
    left: Sequence[SkippedMutants] = (),
) -> CaseBite:
    counts = Counter(one.status for one in views)
    killed, survived = counts[MutantStatus.KILLED], counts[MutantStatus.SURVIVED]
    return CaseBite(
        case_id=case_id,
        ref=case.ref,
        name=case.name,
        category=case.category,
        outcome=outcome,
        message=message,
        score=half_up(100 * killed, killed + survived) if outcome is BiteOutcome.SCORED else None,
        killed=killed,
        survived=survived,
        left_to_judge=counts[MutantStatus.LEFT_TO_JUDGE],
        undecided=counts[MutantStatus.UNDECIDED],
        mutants=tuple(views),
        skipped=tuple(left),
    )
