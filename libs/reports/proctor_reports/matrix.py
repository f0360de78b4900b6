"""A matrix for people: how each cell did, what it broke against the baseline and why, whether it is noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from proctor_contracts.schemas.compare import CellView, CompareDetail, CompareRow, PairVerdict, PairView
from proctor_contracts.schemas.runs import ResultView

from .evidence import rates_text
from .paint import Paint
from .reading import first_failure, money, percent
from .text import clip, one_line, pad, wrap

__all__ = ["Evidence", "render_compare"]

Evidence = Mapping[tuple[int, UUID], ResultView]
"""A failed result by the place of its cell and its case."""

_COLORS = {
    PairVerdict.BETTER: "green",
    PairVerdict.WORSE: "red",
    PairVerdict.NO_EVIDENCE: "cyan",
    PairVerdict.NOT_COMPARABLE: "yellow",
}
_SAID = 200


def render_compare(
    detail: CompareDetail, evidence: Evidence, *, width: int = 100, color: bool = False
) -> str:
    """Render a comparison for a terminal of `width` columns; cases that end alike everywhere are counted."""
    return "\n".join(_lines(detail, evidence, width=max(width, 40), paint=Paint(color))) + "\n"


def _lines(detail: CompareDetail, evidence: Evidence, *, width: int, paint: Paint) -> Iterator[str]:
    yield from _cells(detail, width=width, paint=paint)
    for pair in detail.pairs:
        yield ""
        yield from _pair(detail, pair, evidence, width=width, paint=paint)
    for standing in detail.standings:
        yield ""
        title = f"{_name(detail.cells[standing.cell])} against {_name(detail.cells[detail.baseline])}"
        yield paint.bold(clip(title, width))
        yield from wrap(standing.summary, width)
    differing = sum(row.differs for row in detail.rows)
    yield ""
    yield f"{differing} of {detail.rows_total} cases end differently; comparison {detail.id}"


def _cells(detail: CompareDetail, *, width: int, paint: Paint) -> Iterator[str]:
    names = [_name(cell) + (" (baseline)" if cell.index == detail.baseline else "") for cell in detail.cells]
    column = min(max(map(len, names)), width // 2)
    for name, cell in zip(names, detail.cells, strict=True):
        yield f"{paint.bold(pad(clip(name, column), column))}  {clip(_outcome(cell), width - column - 2)}"


def _outcome(cell: CellView) -> str:
    run = cell.run
    if run is None:
        return "its run was deleted"
    done = run.progress
    parts = [f"{done.passed} of {done.total} passed"]
    parts += [f"{count} {word}" for count, word in ((done.failed, "failed"), (done.error, "error")) if count]
    if run.summary is not None and run.summary.pass_rate is not None:
        parts.append(f"pass rate {percent(run.summary.pass_rate)}")
    if done.cost_cents:
        parts.append(money(done.cost_cents))
    return ", ".join(parts) if run.status.value == "completed" else f"{run.status.value}: {', '.join(parts)}"


def _pair(
    detail: CompareDetail, pair: PairView, evidence: Evidence, *, width: int, paint: Paint
) -> Iterator[str]:
    title = f"{_name(detail.cells[pair.b])} against {_name(detail.cells[pair.a])}"
    yield paint.bold(clip(title, width))
    first, *rest = wrap(pair.summary, width)
    yield paint(first, _COLORS[pair.verdict])
    yield from rest
    if pair.test is not None and (rates := rates_text(pair.test)) is not None:
        yield from wrap(rates, width)
    if not pair.with_baseline:
        return
    for title, mark, shade, named, cell in (
        ("Broken", "✗", "red", pair.broken, pair.b),
        ("Fixed", "✓", "green", pair.fixed, None),
    ):
        rows = [row for row in detail.rows if (row.case_ref or row.case_name) in named]
        if rows:
            yield paint.bold(f"{title} ({len(rows)})")
        for row in rows:
            yield f"  {paint(mark, shade)} {clip(_case(row), width - 4)}"
            if cell is not None and (result := evidence.get((cell, row.case_id))) is not None:
                yield from (f"      {line}" for line in _why(result, width=width - 6))


def _why(result: ResultView, *, width: int) -> Iterator[str]:
    failure = first_failure(result)
    if failure is None:
        return
    yield from wrap(f"{failure.check}: {one_line(failure.problem)}", width)
    if failure.expected is not None:
        yield clip(f"expected: {one_line(failure.expected)}", width)
    if failure.seen is not None:
        yield clip(f"seen: {one_line(failure.seen)}", width)
    said = next((entry.content for entry in reversed(result.transcript) if entry.role.value == "agent"), None)
    if said and said != failure.seen:
        yield from wrap(f"the bot said: {one_line(said, _SAID)}", width)


def _case(row: CompareRow) -> str:
    name = f"{row.case_ref} · {row.case_name}" if row.case_ref else row.case_name
    critical = "CRITICAL " if row.critical else ""
    return f"{critical}{one_line(name, 200)} [{one_line(row.category, 64)}]"


def _name(cell: CellView) -> str:
    return one_line(cell.label, 100)
