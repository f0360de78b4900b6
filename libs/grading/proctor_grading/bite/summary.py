"""Many cases' bites as one report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from proctor_contracts.schemas.bite import (
    BiteOutcome,
    BiteReport,
    BiteSummary,
    CaseBite,
    KindTally,
    MutantKind,
    MutantStatus,
)
from proctor_grading.statistics import half_up

__all__ = ["bite_report", "without_killed"]

_ORDER = (
    BiteOutcome.REFERENCE_FAILS,
    BiteOutcome.SCORED,
    BiteOutcome.NO_REFERENCE,
    BiteOutcome.NOTHING_DECIDED,
)


def bite_report(cases: Iterable[CaseBite]) -> BiteReport:
    """Sum up cases, the weakest first; every mutant of a scored case counts the same."""
    found = sorted(cases, key=_rank)
    counted = [one for one in found if one.outcome in {BiteOutcome.SCORED, BiteOutcome.NOTHING_DECIDED}]
    outcomes = Counter(one.outcome for one in found)
    tallies = Counter((mutant.kind, mutant.status) for one in counted for mutant in one.mutants)
    totals = Counter({status: sum(tallies[kind, status] for kind in MutantKind) for status in MutantStatus})
    killed, survived = totals[MutantStatus.KILLED], totals[MutantStatus.SURVIVED]
    return BiteReport(
        summary=BiteSummary(
            cases=len(found),
            score=half_up(100 * killed, killed + survived) if killed + survived else None,
            killed=killed,
            survived=survived,
            left_to_judge=totals[MutantStatus.LEFT_TO_JUDGE],
            undecided=totals[MutantStatus.UNDECIDED],
            scored=outcomes[BiteOutcome.SCORED],
            nothing_decided=outcomes[BiteOutcome.NOTHING_DECIDED],
            no_reference=outcomes[BiteOutcome.NO_REFERENCE],
            reference_fails=outcomes[BiteOutcome.REFERENCE_FAILS],
            with_survivors=sum(one.survived > 0 for one in found),
            kinds=tuple(
                KindTally(
                    kind=kind,
                    killed=tallies[kind, MutantStatus.KILLED],
                    survived=tallies[kind, MutantStatus.SURVIVED],
                    left_to_judge=tallies[kind, MutantStatus.LEFT_TO_JUDGE],
                    undecided=tallies[kind, MutantStatus.UNDECIDED],
                )
                for kind in MutantKind
                if any(tallies[kind, status] for status in MutantStatus)
            ),
        ),
        cases=tuple(found),
    )


def without_killed(case: CaseBite) -> CaseBite:
    """Leave out what is as it should be."""
    kept = tuple(one for one in case.mutants if one.status is not MutantStatus.KILLED)
    return case.model_copy(update={"mutants": kept})


def _rank(case: CaseBite) -> tuple[int, int, int]:
    return (_ORDER.index(case.outcome), 101 if case.score is None else case.score, -case.survived)
