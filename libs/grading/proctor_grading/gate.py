"""The release gate: a pure decision on a run's rows."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from proctor_contracts.enums import ResultStatus, RunStatus
from proctor_contracts.gate import GateConfidence, GateDecision, GateOutcome, GateReason, GateSettings
from proctor_contracts.summary import RunSummary

from .rows import ResultRow
from .statistics import wilson
from .summary import summarise

__all__ = ["EXIT_CODES", "gate"]

EXIT_CODES = {GateOutcome.PASS: 0, GateOutcome.FAIL: 1, GateOutcome.UNDECIDED: 2}
_NAMED = 10


def gate(
    rows: Iterable[ResultRow], settings: GateSettings, status: RunStatus, *, summary: RunSummary | None = None
) -> GateDecision:
    """Decide whether a run may be released; a rule that fails outranks one that could not be decided.

    Rates are of first attempts and compared exactly as decimals, so 9 of 10 is not below 0.9.
    """
    rows = list(rows)
    numbers = summary or summarise(rows)
    reasons = [
        *_critical(rows, settings),
        _pass_rate(numbers, settings),
        *_latency(numbers, settings),
        *_cost(numbers, settings),
        _errors(numbers, settings),
        *_finished(numbers, status),
    ]
    outcome = next(
        (
            wanted
            for wanted in (GateOutcome.FAIL, GateOutcome.UNDECIDED)
            if any(reason.outcome is wanted for reason in reasons)
        ),
        GateOutcome.PASS,
    )
    rank = {GateOutcome.FAIL: 0, GateOutcome.UNDECIDED: 1, GateOutcome.PASS: 2}
    reasons.sort(key=lambda reason: rank[reason.outcome])
    return GateDecision(outcome=outcome, exit_code=EXIT_CODES[outcome], reasons=tuple(reasons))


def _critical(rows: Iterable[ResultRow], settings: GateSettings) -> Iterable[GateReason]:
    named = set(settings.critical)
    critical = [
        row for row in rows if row.critical or row.category in named or not named.isdisjoint(row.tags)
    ]
    failed = [row for row in critical if row.status is ResultStatus.FAILED]
    unknown = [row for row in critical if row.status not in {ResultStatus.PASSED, ResultStatus.FAILED}]
    if failed:
        yield _reason("critical_failed", GateOutcome.FAIL, f"critical cases failed: {_names(failed)}")
    if unknown:
        text = f"critical cases could not be decided: {_names(unknown)}"
        yield _reason("critical_undecided", GateOutcome.UNDECIDED, text)
    if critical and not failed and not unknown:
        yield _reason("critical_passed", GateOutcome.PASS, f"all {len(critical)} critical results passed")


def _pass_rate(numbers: RunSummary, settings: GateSettings) -> GateReason:
    passed, graded = numbers.first_passed, numbers.graded
    if not graded:
        text = "no result was graded, so there is no pass rate"
        return _reason("nothing_graded", GateOutcome.UNDECIDED, text)
    wanted = Fraction(str(settings.min_pass_rate))
    if settings.confidence is GateConfidence.WILSON_LOWER:
        low = (numbers.pass_rate_ci95 or wilson(passed, graded))[0]
        holds, what = Fraction(low) >= wanted, f"lower end of the pass rate's 95 % interval, {low:.1%},"
    else:
        holds, what = (
            Fraction(passed, graded) >= wanted,
            f"pass rate {passed}/{graded} = {passed / graded:.1%}",
        )
    if holds:
        text = f"{what} reaches {settings.min_pass_rate:.4g}"
        return _reason("pass_rate", GateOutcome.PASS, text)
    return _reason("pass_rate_low", GateOutcome.FAIL, f"{what} is below {settings.min_pass_rate:.4g}")


def _latency(numbers: RunSummary, settings: GateSettings) -> Iterable[GateReason]:
    limit, p95 = settings.max_p95_latency_ms, numbers.latency_p95_ms
    if limit is None:
        return
    if p95 is None:
        yield _reason("latency_unknown", GateOutcome.UNDECIDED, "no turn carries a time, so p95 is unknown")
    elif p95 > limit:
        yield _reason("latency_high", GateOutcome.FAIL, f"p95 latency {p95} ms is above {limit} ms")
    else:
        yield _reason("latency", GateOutcome.PASS, f"p95 latency {p95} ms is within {limit} ms")


def _cost(numbers: RunSummary, settings: GateSettings) -> Iterable[GateReason]:
    limit, cost = settings.max_cost_cents, numbers.cost_micro_usd
    if limit is None:
        return
    if cost is None:
        yield _reason("cost_unknown", GateOutcome.UNDECIDED, "a model's price is unknown, so the cost is too")
        return
    cents = Fraction(cost, 10_000)
    shown = f"cost {float(cents):.4g} cents"
    if cents > Fraction(str(limit)):
        yield _reason("cost_high", GateOutcome.FAIL, f"{shown} is above {limit:g} cents")
    else:
        yield _reason("cost", GateOutcome.PASS, f"{shown} is within {limit:g} cents")


def _errors(numbers: RunSummary, settings: GateSettings) -> GateReason:
    finished = numbers.total - numbers.cancelled - numbers.unfinished
    share = Fraction(numbers.error, finished) if finished else Fraction(0)
    shown = f"{numbers.error} of {finished} results ended in error"
    if share > Fraction(str(settings.max_error_rate)):
        text = f"{shown}, more than {settings.max_error_rate:.4g}"
        return _reason("errors_high", GateOutcome.UNDECIDED, text)
    return _reason("errors", GateOutcome.PASS, shown)


def _finished(numbers: RunSummary, status: RunStatus) -> Iterable[GateReason]:
    if status is RunStatus.CANCELLED:
        yield _reason("run_cancelled", GateOutcome.UNDECIDED, "the run was cancelled")
    elif not status.final or numbers.unfinished:
        yield _reason("run_unfinished", GateOutcome.UNDECIDED, f"{numbers.unfinished} results are unfinished")
    elif numbers.cancelled:
        text = f"{numbers.cancelled} results were cancelled"
        yield _reason("results_cancelled", GateOutcome.UNDECIDED, text)


def _names(rows: list[ResultRow]) -> str:
    names = list(dict.fromkeys(row.ref or row.name for row in rows))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _reason(code: str, outcome: GateOutcome, message: str) -> GateReason:
    return GateReason(code=code, outcome=outcome, message=message)
