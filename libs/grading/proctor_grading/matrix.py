"""Several runs over the same cases: the cases side by side, and each pair of runs by its paired test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from uuid import UUID

from proctor_contracts.diff import CaseChange, RunDiff
from proctor_contracts.enums import ResultStatus
from proctor_contracts.schemas.compare import CellResult, CompareRow, PairVerdict, PairView

from .corrections import ALPHA, holm
from .diff import diff
from .rows import ResultRow
from .statistics import half_up

__all__ = ["Cell", "pairs", "side_by_side"]

MOST_NAMED = 20
"""Cases that a pair names as broken or fixed."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of the matrix with its results; one that is gone has none."""

    run_id: UUID
    rows: Sequence[ResultRow]


def side_by_side(cells: Sequence[Cell]) -> list[CompareRow]:
    """Lay the cases side by side: first those that differ, the critical ones before the others."""
    groups = [_by_case(cell.rows) for cell in cells]
    order = list(dict.fromkeys(case for group in groups for case in group))
    rows = []
    for case in order:
        found = [group.get(case, ()) for group in groups]
        known = next(rows[0] for rows in found if rows)
        shown = tuple(map(_result, found))
        rows.append(
            CompareRow(
                case_id=case,
                case_ref=known.ref,
                case_name=known.name,
                category=known.category,
                critical=known.critical,
                differs=len({(one.status, _share(one)) for one in shown}) > 1,
                cells=shown,
            )
        )
    return sorted(rows, key=lambda row: (not row.differs, not row.critical))


def pairs(cells: Sequence[Cell], *, baseline: int) -> list[PairView]:
    """Test every pair of cells; those with the baseline come first, the baseline as `a`.

    Holm adjusts the pairs with the baseline as one family, and the others as another.
    """
    order = [baseline, *(place for place in range(len(cells)) if place != baseline)]
    found = [
        (a, b, diff(cells[a].run_id, cells[b].run_id, cells[a].rows, cells[b].rows))
        for a, b in combinations(order, 2)
    ]
    mine = [one for one in found if one[0] == baseline]
    others = [one for one in found if one[0] != baseline]
    return [*_family(mine, with_baseline=True), *_family(others, with_baseline=False)]


def _family(found: Sequence[tuple[int, int, RunDiff]], *, with_baseline: bool) -> Iterable[PairView]:
    tested = [one.test.p_value for _, _, one in found if one.test is not None]
    adjusted = iter(holm(tested))
    for a, b, one in found:
        p = None if one.test is None else next(adjusted)
        verdict = _verdict(one, p)
        yield PairView(
            a=a,
            b=b,
            with_baseline=with_baseline,
            verdict=verdict,
            summary=_summary(one, verdict, p),
            coverage=one.coverage,
            adjusted=p,
            test=one.test,
            broken=_named(one, CaseChange.BROKEN),
            fixed=_named(one, CaseChange.FIXED),
            categories=one.categories,
        )


def _verdict(one: RunDiff, adjusted: float | None) -> PairVerdict:
    if one.test is None or adjusted is None:
        return PairVerdict.NOT_COMPARABLE
    if adjusted > ALPHA or not one.test.mean_difference:
        return PairVerdict.NO_EVIDENCE
    return PairVerdict.BETTER if one.test.mean_difference > 0 else PairVerdict.WORSE


def _summary(one: RunDiff, verdict: PairVerdict, adjusted: float | None) -> str:
    test = one.test
    if test is None or adjusted is None:
        return f"not comparable: {one.reason or 'nothing was graded'}"
    by = f"{100 * abs(test.mean_difference or 0):.1f}".removesuffix(".0")
    if verdict is not PairVerdict.NO_EVIDENCE:
        return f"{verdict.value} by {by} points (adjusted p = {adjusted:.2g})"
    smallest = test.smallest_detectable
    shown = (
        "so few pairs cannot show any"
        if smallest is None or smallest > 1
        else f"smallest one this could have shown: {f'{100 * smallest:.1f}'.removesuffix('.0')} points"
    )
    return f"no evidence of a difference (adjusted p = {adjusted:.2g}); {shown}"


def _share(one: CellResult) -> Fraction | None:
    return Fraction(one.passed, one.graded) if one.graded else None


def _named(one: RunDiff, change: CaseChange) -> tuple[str, ...]:
    names = [case.case_ref or case.case_name for case in one.cases if case.change is change]
    return tuple(names[:MOST_NAMED])


def _by_case(rows: Iterable[ResultRow]) -> dict[UUID, list[ResultRow]]:
    groups: dict[UUID, list[ResultRow]] = {}
    for row in rows:
        groups.setdefault(row.case_id, []).append(row)
    return groups


def _result(rows: Sequence[ResultRow]) -> CellResult:
    firsts = [row.first for row in rows]
    scores = [score for row in rows if (score := row.counted_score) is not None]
    passed = firsts.count(ResultStatus.PASSED)
    return CellResult(
        status=_status([row.status for row in rows]),
        score=half_up(sum(scores), len(scores)) if scores else None,
        passed=passed,
        graded=passed + firsts.count(ResultStatus.FAILED),
        trials=len(rows),
        flaky=any(row.flaky for row in rows),
    )


_WORST = (
    ResultStatus.FAILED,
    ResultStatus.ERROR,
    ResultStatus.RUNNING,
    ResultStatus.PENDING,
    ResultStatus.CANCELLED,
    ResultStatus.PASSED,
)


def _status(statuses: Sequence[ResultStatus]) -> ResultStatus | None:
    """The worst that became of the trials; None without any."""
    return next((status for status in _WORST if status in statuses), None)
