"""Two runs compared, case by case and by a paired test."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from uuid import UUID

from proctor_contracts.diff import Change, DiffCase, DiffSide, DiffTest, DiffVerdict, RunDiff
from proctor_contracts.enums import ResultStatus

from .comparison import mcnemar, sign_flip
from .rows import ResultRow
from .statistics import mean_interval, minimum_detectable

__all__ = ["MIN_COVERAGE", "compare"]

MIN_COVERAGE = Fraction(4, 5)
ALPHA = 0.05
SMALL_N = 30
_ORDER = {change: rank for rank, change in enumerate(
    (
        Change.BROKEN,
        Change.STILL_FAILING,
        Change.FLAKY,
        Change.ERRORED,
        Change.FIXED,
        Change.ONLY_IN_A,
        Change.ONLY_IN_B,
        Change.STILL_PASSING,
    )
)}  # fmt: skip


def compare(a: UUID, b: UUID, rows_a: Iterable[ResultRow], rows_b: Iterable[ResultRow]) -> RunDiff:
    """Compare run A (before) with run B (after) by first attempts.

    A case is the same in both by its id, or else by its ref. A case with mixed trials, or with a pass after a
    failed first attempt, is flaky rather than fixed or broken.
    """
    before, after = _by_case(rows_a), _by_case(rows_b)
    pairs = list(_paired(before, after))
    cases = sorted(
        (_case(left, right) for left, right in pairs),
        key=lambda case: (_ORDER[case.change], case.category, case.ref or case.name, case.case_id),
    )
    counts = Counter(case.change for case in cases)
    return RunDiff(
        a=a,
        b=b,
        counts={change: counts[change] for change in Change if counts[change]},
        cases=tuple(cases),
        test=_test(pairs),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    row: ResultRow
    passed: int
    graded: int
    flaky: bool
    score: float | None

    @property
    def mixed(self) -> bool:
        return self.flaky or 0 < self.passed < self.graded

    def wire(self) -> DiffSide:
        return DiffSide(passed=self.passed, graded=self.graded, flaky=self.mixed, score=self.score)


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
        passed=passed,
        graded=passed + firsts.count(ResultStatus.FAILED),
        flaky=any(row.flaky for row in rows),
        score=sum(scores) / len(scores) if scores else None,
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


def _case(left: _Side | None, right: _Side | None) -> DiffCase:
    shown = right or left
    if shown is None:
        raise ValueError("a case is in neither run")
    row = shown.row
    return DiffCase(
        case_id=row.case_id,
        ref=row.ref,
        name=row.name,
        category=row.category,
        change=_change(left, right),
        a=left.wire() if left else None,
        b=right.wire() if right else None,
    )


def _change(left: _Side | None, right: _Side | None) -> Change:  # noqa: PLR0911 - one return per kind of change
    if left is None:
        return Change.ONLY_IN_B
    if right is None:
        return Change.ONLY_IN_A
    if not left.graded or not right.graded:
        return Change.ERRORED
    if left.mixed or right.mixed:
        return Change.FLAKY
    match (left.passed > 0, right.passed > 0):
        case (True, True):
            return Change.STILL_PASSING
        case (True, False):
            return Change.BROKEN
        case (False, True):
            return Change.FIXED
        case _:
            return Change.STILL_FAILING


def _test(pairs: Iterable[tuple[_Side | None, _Side | None]]) -> DiffTest:
    """Test the pass rates: mid-p McNemar for one trial a case, else sign flips of per-case differences."""
    both: list[tuple[_Side, _Side]] = []
    either = 0
    for left, right in pairs:
        in_a, in_b = bool(left and left.graded), bool(right and right.graded)
        either += in_a or in_b
        if left and right and in_a and in_b:
            both.append((left, right))
    coverage = Fraction(len(both), either) if either else Fraction(0)
    single = all(left.graded == right.graded == 1 for left, right in both)
    method = "mcnemar_mid_p" if single else "sign_flip"
    if not both or coverage < MIN_COVERAGE:
        return DiffTest(
            method=method, verdict=DiffVerdict.INCOMPARABLE, pairs=len(both), coverage=float(coverage)
        )
    deltas = [
        Fraction(right.passed, right.graded) - Fraction(left.passed, left.graded) for left, right in both
    ]
    only_a = sum(delta < 0 for delta in deltas)
    only_b = sum(delta > 0 for delta in deltas)
    if single:
        paired = mcnemar(only_a, only_b)
        p_value, p_exact = paired.mid_p, paired.exact
    else:
        scale = math.lcm(*(delta.denominator for delta in deltas))
        p_value = p_exact = sign_flip([int(delta * scale) for delta in deltas])
    mean = mean_interval([float(delta) for delta in deltas])
    delta = float(sum(deltas) / len(deltas))
    spread = None if mean is None or mean.se is None else mean.se * math.sqrt(mean.n)
    return DiffTest(
        method=method,
        verdict=_verdict(p_value, delta),
        pairs=len(both),
        coverage=float(coverage),
        p_value=p_value,
        p_exact=p_exact,
        only_a=only_a,
        only_b=only_b,
        delta=delta,
        delta_ci95=mean.interval if mean else None,
        minimum_detectable=None if spread is None else minimum_detectable(spread, len(both)),
        small_n=len(both) < SMALL_N,
    )


def _verdict(p_value: float, delta: float) -> DiffVerdict:
    if p_value > ALPHA or delta == 0:
        return DiffVerdict.NO_EVIDENCE
    return DiffVerdict.BETTER if delta > 0 else DiffVerdict.WORSE
