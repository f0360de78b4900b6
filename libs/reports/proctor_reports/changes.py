"""Two runs side by side, for people: what broke first, then what got better, then whether it is noise."""

from __future__ import annotations

from collections.abc import Iterator

from proctor_contracts.diff import CaseChange, CaseDiff, RunDiff
from proctor_contracts.enums import ResultStatus

from .evidence import category_texts, rates_text, verdict_text
from .paint import Paint
from .text import clip, one_line, wrap

__all__ = ["render_diff"]

_SHOWN = {
    CaseChange.BROKEN: ("Newly broken", "✗", "red"),
    CaseChange.ERRORED: ("Could not find out", "!", "yellow"),
    CaseChange.FLAKY: ("Flaky", "~", "yellow"),
    CaseChange.STILL_FAILING: ("Still failing", "✗", "red"),
    CaseChange.FIXED: ("Fixed", "✓", "green"),
    CaseChange.ONLY_IN_A: ("Only in the first run", "-", "cyan"),
    CaseChange.ONLY_IN_B: ("Only in the second run", "+", "cyan"),
}


def render_diff(diff: RunDiff, *, width: int = 100, color: bool = False) -> str:
    """Render a comparison for a terminal of `width` columns; cases that pass in both are only counted."""
    return "\n".join(_lines(diff, width=max(width, 40), paint=Paint(color))) + "\n"


def _lines(diff: RunDiff, *, width: int, paint: Paint) -> Iterator[str]:
    for change, (title, mark, color) in _SHOWN.items():
        cases = [case for case in diff.cases if case.change is change]
        if not cases:
            continue
        yield paint.bold(f"{title} ({len(cases)})")
        for case in sorted(cases, key=lambda case: not case.critical):
            yield f"  {paint(mark, color)} {clip(_case(case), width - 4)}"
        yield ""
    counts = (f"{number} {change.replace('_', ' ')}" for change, number in diff.counts.items() if number)
    yield f"{diff.run_a} (first) against {diff.run_b} (second)"
    yield ", ".join(counts) or "no cases at all"
    for text in _verdict(diff):
        yield from wrap(text, width)


def _case(case: CaseDiff) -> str:
    name = f"{case.case_ref} · {case.case_name}" if case.case_ref else case.case_name
    critical = "CRITICAL " if case.critical else ""
    before, after = _end(case.status_a, case.score_a), _end(case.status_b, case.score_b)
    return f"{critical}{one_line(name, 200)} [{one_line(case.category, 64)}]: {before} -> {after}"


def _end(status: ResultStatus | None, score: int | None) -> str:
    if status is None:
        return "absent"
    return status.value if score is None else f"{status.value} {score}"


def _verdict(diff: RunDiff) -> Iterator[str]:
    if not diff.comparable or diff.test is None:
        why = one_line(diff.reason or "too few cases were graded in both")
        both = sum(case.status_a is not None and case.status_b is not None for case in diff.cases)
        yield f"not comparable: {why}; {both} of {len(diff.cases)} cases are in both runs"
        return
    if (rates := rates_text(diff.test)) is not None:
        yield rates
    yield verdict_text(diff.test)
    yield from category_texts(diff.categories)
