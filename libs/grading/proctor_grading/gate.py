"""The release gate: a pure decision on a run's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from proctor_contracts.enums import ResultStatus, RunStatus
from proctor_contracts.gate import GateDecision, GateOutcome, GateReason, GateSettings
from proctor_contracts.summary import RunSummary

from .rows import ResultRow
from .statistics import wilson
from .summary import summarise

__all__ = ["EVERY_CASE", "EXIT_CODES", "REGRESSION", "gate", "is_critical"]

EXIT_CODES = {GateOutcome.PASSED: 0, GateOutcome.FAILED: 1, GateOutcome.UNDECIDED: 2}
REGRESSION = "regression"
"""The code of the reason that a category got worse than in the runs before."""

EVERY_CASE = GateSettings(min_pass_rate=1)
"""What holds where no gate is stated."""
_NAMED = 10


def gate(
    rows: Iterable[ResultRow],
    settings: GateSettings,
    status: RunStatus,
    *,
    summary: RunSummary | None = None,
    regressions: Sequence[str] = (),
) -> GateDecision:
    """Decide whether a run may be released; a rule that fails outranks one that could not be decided.

    Rates are of first attempts and compared exactly as decimals, so 9 of 10 is not below 0.9. With a summary
    given, only the critical rows are needed. `regressions` says of each category that got worse than in the
    runs before how far it fell, which the run's rows alone do not tell.
    """
    if summary is None:
        rows = list(rows)
        summary = summarise(rows)
    numbers = summary
    findings = [
        *_critical(rows, settings),
        *_pass_rate(numbers, settings),
        *(_failed(REGRESSION, message) for message in regressions),
        *_latency(numbers, settings),
        *_cost(numbers, settings),
        *_errors(numbers, settings),
        *_finished(numbers, status),
    ]
    findings.sort(key=lambda finding: finding.outcome is GateOutcome.UNDECIDED)
    outcome = findings[0].outcome if findings else GateOutcome.PASSED
    return GateDecision(
        outcome=outcome,
        exit_code=EXIT_CODES[outcome],
        reasons=tuple(GateReason(code=finding.code, message=finding.message) for finding in findings),
    )


@dataclass(frozen=True, slots=True)
class _Finding:
    """A rule that does not hold (failed), or that could not be checked (undecided)."""

    code: str
    outcome: GateOutcome
    message: str


def is_critical(row: ResultRow, settings: GateSettings) -> bool:
    """Say whether a row may block a release by itself."""
    named = settings.critical
    return row.critical or row.category in named or any(tag in named for tag in row.tags)


def _critical(rows: Iterable[ResultRow], settings: GateSettings) -> Iterable[_Finding]:
    critical = [row for row in rows if is_critical(row, settings)]
    failed = [row for row in critical if row.status is ResultStatus.FAILED]
    unknown = [row for row in critical if row.status not in {ResultStatus.PASSED, ResultStatus.FAILED}]
    if failed:
        yield _failed("critical_failed", f"critical cases failed: {_names(failed)}")
    if unknown:
        yield _undecided("critical_undecided", f"critical cases could not be decided: {_names(unknown)}")


def _pass_rate(numbers: RunSummary, settings: GateSettings) -> Iterable[_Finding]:
    passed = numbers.first_attempt_passed
    graded = passed + numbers.first_attempt_failed
    if not graded:
        yield _undecided("nothing_graded", "no result was graded, so there is no pass rate")
        return
    wanted = Fraction(str(settings.min_pass_rate))
    if settings.confidence == "wilson_lower":
        low = (numbers.pass_rate_ci95 or wilson(passed, graded))[0]
        holds, what = Fraction(low) >= wanted, f"lower end of the pass rate's 95 % interval, {low:.1%},"
    else:
        holds, what = (
            Fraction(passed, graded) >= wanted,
            f"pass rate {passed}/{graded} = {passed / graded:.1%}",
        )
    if not holds:
        yield _failed("pass_rate_low", f"{what} is below {settings.min_pass_rate * 100:.4g}%")


def _latency(numbers: RunSummary, settings: GateSettings) -> Iterable[_Finding]:
    limit, p95 = settings.max_p95_latency_ms, numbers.latency_p95_ms
    if limit is None:
        return
    if p95 is None:
        yield _undecided("latency_unknown", "no turn carries a time, so p95 is unknown")
    elif p95 > limit:
        yield _failed("latency_high", f"p95 latency {p95} ms is above {limit} ms")


def _cost(numbers: RunSummary, settings: GateSettings) -> Iterable[_Finding]:
    limit, cost = settings.max_cost_cents, numbers.cost_cents
    if limit is None:
        return
    if cost is None:
        yield _undecided("cost_unknown", "a model's price is unknown, so the cost is too")
        return
    cents = Fraction(str(cost))
    shown = f"cost {float(cents):.4g} cents"
    if cents > Fraction(str(limit)):
        yield _failed("cost_high", f"{shown} is above {limit:g} cents")


def _errors(numbers: RunSummary, settings: GateSettings) -> Iterable[_Finding]:
    finished = numbers.passed + numbers.failed + numbers.error
    share = Fraction(numbers.error, finished) if finished else Fraction(0)
    shown = f"{numbers.error} of {finished} results ended in error"
    if share > Fraction(str(settings.max_error_rate)):
        yield _undecided("errors_high", f"{shown}, more than {settings.max_error_rate * 100:.4g}%")


def _finished(numbers: RunSummary, status: RunStatus) -> Iterable[_Finding]:
    unfinished = numbers.total - numbers.passed - numbers.failed - numbers.error - numbers.cancelled
    if status is RunStatus.CANCELLED:
        yield _undecided("run_cancelled", "the run was cancelled")
    elif unfinished or not status.final:
        yield _undecided("run_unfinished", f"the run is {status} and {unfinished} results are unfinished")
    elif numbers.cancelled:
        yield _undecided("results_cancelled", f"{numbers.cancelled} results were cancelled")


def _names(rows: list[ResultRow]) -> str:
    names = list(dict.fromkeys(row.named for row in rows))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _failed(code: str, message: str) -> _Finding:
    return _Finding(code, GateOutcome.FAILED, message)


def _undecided(code: str, message: str) -> _Finding:
    return _Finding(code, GateOutcome.UNDECIDED, message)
