"""Two runs compared, case by case and by a paired test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from uuid import UUID

from proctor_contracts.diff import CaseChange, CaseDiff, RunDiff
from proctor_contracts.enums import ResultStatus

from .paired import Pair, by_category, paired_test
from .rows import ResultRow
from .statistics import half_up

__all__ = ["MIN_COVERAGE", "diff"]

MIN_COVERAGE = Fraction(4, 5)
_SEVERITY = (
    ResultStatus.PASSED,
    ResultStatus.PENDING,
    ResultStatus.RUNNING,
    ResultStatus.CANCELLED,
    ResultStatus.ERROR,
    ResultStatus.FAILED,
)
_ORDER = {change: rank for rank, change in enumerate(
    (
        CaseChange.BROKEN,
        CaseChange.STILL_FAILING,
        CaseChange.FLAKY,
        CaseChange.ERRORED,
        CaseChange.FIXED,
        CaseChange.ONLY_IN_A,
        CaseChange.ONLY_IN_B,
        CaseChange.STILL_PASSING,
    )
)}  # fmt: skip


def diff(a: UUID, b: UUID, rows_a: Iterable[ResultRow], rows_b: Iterable[ResultRow]) -> RunDiff:
    """Compare run A (before) with run B (after) by first attempts.

    A case is the same in both by its id, or else by its ref. A case with mixed trials, or with a pass after a
    failed first attempt, is flaky rather than fixed or broken.
    """
    before, after = _by_case(rows_a), _by_case(rows_b)
    pairs = list(_paired(before, after))
    cases = sorted(
        (_case(left, right) for left, right in pairs),
        key=lambda case: (_ORDER[case.change], case.category, case.case_ref or case.case_name, case.case_id),
    )
    counts = Counter(case.change for case in cases)
    coverage, both = _coverage(pairs)
    reason = _incomparable(coverage, len(both))
    tested = [_pair(*sides) for sides in both] if reason is None else []
    return RunDiff(
        run_a=a,
        run_b=b,
        cases=tuple(cases),
        counts={change.value: counts[change] for change in CaseChange if counts[change]},
        coverage=float(coverage),
        comparable=reason is None,
        reason=reason,
        test=paired_test(tested) if tested else None,
        categories=by_category(tested),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    row: ResultRow
    status: ResultStatus
    passed: int
    graded: int
    flaky: bool
    score: int | None

    @property
    def mixed(self) -> bool:
        return self.flaky or 0 < self.passed < self.graded


def _by_case(rows: Iterable[ResultRow]) -> dict[UUID, _Side]:
    trials: dict[UUID, list[ResultRow]] = {}
    for row in rows:
        trials.setdefault(row.case_id, []).append(row)
    return {case: _side(group) for case, group in trials.items()}


def _side(rows: Sequence[ResultRow]) -> _Side:
    firsts = [row.first for row in rows]
    scores = [score for row in rows if (score := row.counted_score) is not None]
    passed = firsts.count(ResultStatus.PASSED)
    return _Side(
        row=rows[0],
        status=max((row.status for row in rows), key=_SEVERITY.index),
        passed=passed,
        graded=passed + firsts.count(ResultStatus.FAILED),
        flaky=any(row.flaky for row in rows),
        score=half_up(sum(scores), len(scores)) if scores else None,
    )


def _paired(
    before: dict[UUID, _Side], after: dict[UUID, _Side]
) -> Iterable[tuple[_Side | None, _Side | None]]:
    """Pair the cases by id, then those left over by ref."""
    left = {case: side for case, side in before.items() if case not in after}
    right = {case: side for case, side in after.items() if case not in before}
    by_ref = {side.row.ref: case for case, side in right.items() if side.row.ref}
    for case, side in before.items():
        if case in after:
            yield side, after[case]
    for side in left.values():
        twin = by_ref.pop(side.row.ref, None) if side.row.ref else None
        yield side, None if twin is None else right.pop(twin)
    for side in right.values():
        yield None, side


def _case(left: _Side | None, right: _Side | None) -> CaseDiff:
    shown = right or left
    if shown is None:
        raise ValueError("a case is in neither run")
    row = shown.row
    return CaseDiff(
        case_id=row.case_id,
        case_ref=row.ref,
        case_name=row.name,
        category=row.category,
        critical=row.critical,
        change=_change(left, right),
        status_a=left.status if left else None,
        status_b=right.status if right else None,
        score_a=left.score if left else None,
        score_b=right.score if right else None,
    )


def _change(left: _Side | None, right: _Side | None) -> CaseChange:  # noqa: PLR0911 - one return per kind of change
    if left is None:
        return CaseChange.ONLY_IN_B
    if right is None:
        return CaseChange.ONLY_IN_A
    if not right.graded or (not left.graded and right.mixed):
        return CaseChange.FLAKY if right.graded else CaseChange.ERRORED
    if not left.graded:
        # What could not be found out before is known now; that it was good before is not, so nothing broke.
        return CaseChange.FIXED if right.passed else CaseChange.STILL_FAILING
    if left.mixed or right.mixed:
        return CaseChange.FLAKY
    match (left.passed > 0, right.passed > 0):
        case (True, True):
            return CaseChange.STILL_PASSING
        case (True, False):
            return CaseChange.BROKEN
        case (False, True):
            return CaseChange.FIXED
        case _:
            return CaseChange.STILL_FAILING


def _coverage(
    pairs: Iterable[tuple[_Side | None, _Side | None]],
) -> tuple[Fraction, list[tuple[_Side, _Side]]]:
    """Return the cases graded in both runs, and their share of those graded in either."""
    both: list[tuple[_Side, _Side]] = []
    either = 0
    for left, right in pairs:
        in_a, in_b = bool(left and left.graded), bool(right and right.graded)
        either += in_a or in_b
        if left and right and in_a and in_b:
            both.append((left, right))
    return (Fraction(len(both), either) if either else Fraction(0)), both


def _incomparable(coverage: Fraction, both: int) -> str | None:
    if not both:
        return "no case was graded in both runs"
    if coverage < MIN_COVERAGE:
        return (
            f"only {float(coverage):.0%} of the cases graded in either run were graded in both (80% needed)"
        )
    return None


def _pair(left: _Side, right: _Side) -> Pair:
    return Pair(
        category=right.row.category, before=(left.passed, left.graded), after=(right.passed, right.graded)
    )
