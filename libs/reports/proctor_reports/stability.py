"""How steady cases are, as a table for people."""

from __future__ import annotations

from collections.abc import Iterator

from proctor_contracts.enums import ResultStatus
from proctor_contracts.stability import CaseStability, StabilityReport
from proctor_contracts.verdicts import Stability

from .paint import Paint
from .reading import percent
from .text import clip, one_line, pad

__all__ = ["render_stability"]

_NARROWEST = 60
_MARKS = {ResultStatus.PASSED: ("✓", "green"), ResultStatus.FAILED: ("✗", "red")}
_SHOWN_TRIALS = 20
_WORDS = {
    Stability.FLAKY: "flaky",
    Stability.STABLE_FAIL: "always fail",
    Stability.STABLE_PASS: "always pass",
    Stability.UNKNOWN: "with fewer than 5 trials",
}
_COLUMNS = f"{pad('trials', _SHOWN_TRIALS)}  passed   unstable  95 % interval"


def render_stability(
    report: StabilityReport, *, every: bool = False, width: int = 100, color: bool = False
) -> str:
    """Render the cases whose trials disagree, on request every one, for a terminal of `width` columns."""
    return "\n".join(_lines(report, every=every, width=max(width, _NARROWEST), paint=Paint(color))) + "\n"


def _lines(report: StabilityReport, *, every: bool, width: int, paint: Paint) -> Iterator[str]:
    if report.like is None:
        yield "no run is over yet"
        return
    shown = [case for case in report.cases if every or case.instability]
    if shown:
        yield paint.dim(_COLUMNS)
    for case in shown:
        yield _numbers(case, paint)
        note = " (set apart until it is understood?)" if case.quarantine else ""
        flags = " CRITICAL" if case.critical else ""
        name = f"{case.case_ref} · {case.case_name}" if case.case_ref else case.case_name
        text = f"{one_line(name, 200)} [{one_line(case.category, 64)}]"
        yield f"  {clip(text, width - 2 - len(flags) - len(note))}{paint(flags, 'red')}{paint.dim(note)}"
    if not shown:
        yield "no case passed and failed"
    model = f" · {one_line(report.model, 80)}" if report.model else ""
    counts = ", ".join(f"{number} {_WORDS[one]}" for one in _WORDS if (number := report.counts.get(one)))
    provider = report.provider.value if report.provider else "unknown"
    yield ""
    yield f"{counts or 'no case with a trial as it is now'}; first attempts of {report.runs} runs"
    yield paint.dim(f"with the prompt of run {report.like} on {provider}{model}")


def _numbers(case: CaseStability, paint: Paint) -> str:
    marks = [_MARKS.get(trial.status, ("?", "yellow")) for trial in case.recent[-_SHOWN_TRIALS:]]
    strip = "".join(paint(mark, color) for mark, color in marks) + " " * (_SHOWN_TRIALS - len(marks))
    low, high = case.pass_rate_ci95
    unstable = "-" if case.instability is None else percent(case.instability)
    count = f"{case.passed}/{case.trials}"
    return f"{strip}  {count:>7}  {unstable:>8}  {percent(low)} to {percent(high)}"
