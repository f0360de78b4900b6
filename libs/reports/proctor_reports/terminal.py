"""The report for people: failures explained, errors apart, then the numbers and what the gate decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from proctor_contracts.enums import ResultStatus
from proctor_contracts.gate import GateOutcome
from proctor_contracts.schemas.runs import ResultView, RunDocument
from proctor_contracts.summary import GroupSummary, RunSummary

from .evidence import repeats_text, unstable_text
from .paint import Paint
from .reading import (
    NO_GATE,
    Finding,
    broken_checks,
    by_status,
    finding,
    first_failure,
    imperfect,
    label,
    money,
    percent,
    score_text,
    seconds,
)  # fmt: skip
from .text import cells, clip, one_line, pad, wrap
from .tools import ledger, runner_text, shows_ledger, weather_counts

__all__ = ["render_terminal"]

_NARROWEST = 40
_CATEGORY_WIDTH = 40
_MANY_FINDINGS = 5
_MANY_WRITES = 10
_GATE_WORDS = {
    GateOutcome.PASSED: ("gate passed", "green"),
    GateOutcome.FAILED: ("gate failed", "red"),
    GateOutcome.UNDECIDED: ("gate could not decide", "yellow"),
}
_ALIKE = 3
_MANY_IMPERFECT = 10
_MANY_IMPERFECT_CHECKS = 2


def render_terminal(document: RunDocument, *, width: int = 100, color: bool = False) -> str:
    """Render a finished run for a terminal of `width` columns; nothing in it can act on the terminal."""
    return "\n".join(_Report(document, width=max(width, _NARROWEST), paint=Paint(color)).lines()) + "\n"


class _Report:
    def __init__(self, document: RunDocument, *, width: int, paint: Paint) -> None:
        self.document = document
        self.width = width
        self.paint = paint
        self.trials = document.run.repeats > 1

    def lines(self) -> Iterator[str]:
        for result in by_status(self.document, ResultStatus.FAILED):
            yield from self.failed(result)
            yield ""
        for alike in _alike(by_status(self.document, ResultStatus.ERROR)):
            if len(alike) >= _ALIKE:
                yield from self.errored_alike(alike)
                yield ""
                continue
            for result in alike:
                yield from self.errored(result)
                yield ""
        flaky = [result for result in self.document.results if result.flaky]
        if flaky:
            yield from self.flaky(flaky)
            yield ""
        if passed := imperfect(self.document):
            yield from self.imperfect(passed)
            yield ""
        yield from self.summary()
        yield from self.gate()

    def heading(self, mark: str, color: str, result: ResultView, rest: str) -> Iterator[str]:
        flags = " CRITICAL" if result.critical else ""
        title = one_line(label(result, trials=self.trials))
        fits = 2 + cells(title) + len(flags) + 1 + cells(rest) <= self.width
        title = self.paint.bold(clip(title, self.width - 2 - len(flags)))
        line = f"{self.paint(mark, color)} {title}{self.paint(flags, 'red')}"
        yield f"{line} {self.paint.dim(rest)}" if fits else line
        if not fits:
            yield from (f"    {self.paint.dim(part)}" for part in wrap(rest, self.width - 4))

    def field(self, name: str, text: str, indent: int = 6) -> Iterator[str]:
        hang = indent + 10
        first = True
        for line in wrap(one_line(text, 600), self.width - hang):
            yield " " * indent + (self.paint.dim(pad(name, 10)) if first else " " * 10) + line
            first = False

    def explain(self, found: Finding) -> Iterator[str]:
        for number, line in enumerate(wrap(one_line(f"{found.check}: {found.problem}", 600), self.width - 6)):
            yield ("    " if number == 0 else "      ") + line
        for name, text in (("expected", found.expected), ("seen", found.seen), ("where", found.where)):
            if text:
                yield from self.field(name, text)
        for note in found.notes:
            yield from self.field("note", note)

    def failed(self, result: ResultView) -> Iterator[str]:
        rest = f"({one_line(result.category, 64)}; {score_text(result)}{_tries(result)})"
        yield from self.heading("✗", "red", result, rest)
        checks = broken_checks(result.assertion_results)
        for check in checks[:_MANY_FINDINGS]:
            yield from self.explain(finding(check, result.transcript))
        if len(checks) > _MANY_FINDINGS:
            yield f"    … and {len(checks) - _MANY_FINDINGS} more broken checks"
        yield from self.written(result)
        if not checks and (found := first_failure(result)):
            yield f"    in an earlier attempt, {one_line(found.check)}: {one_line(found.problem)}"

    def written(self, result: ResultView) -> Iterator[str]:
        if not shows_ledger(result):
            return
        lines = ledger(result.effects)
        yield from self.field("ledger", lines[0])
        for line in lines[1:_MANY_WRITES]:
            yield from self.field("", line)
        if len(lines) > _MANY_WRITES:
            yield from self.field("", f"… and {len(lines) - _MANY_WRITES} more writes")

    def errored(self, result: ResultView) -> Iterator[str]:
        code = result.error.code if result.error else "unknown"
        blame = f", blame: {result.error.blame.value}" if result.error else ""
        yield from self.heading("!", "yellow", result, f"(error: {one_line(code, 64)}{blame})")
        if result.error:
            for line in wrap(one_line(result.error.message, 600), self.width - 4):
                yield f"    {line}"
        for check in broken_checks(result.assertion_results)[:_MANY_FINDINGS]:
            yield from self.explain(finding(check, result.transcript))
        yield from self.written(result)

    def errored_alike(self, results: Sequence[ResultView]) -> Iterator[str]:
        error = results[0].error
        if error is None:
            return
        many = self.paint.bold(f"{len(results)} results")
        said = self.paint.dim(f"(error: {one_line(error.code, 64)}, blame: {error.blame.value})")
        yield f"{self.paint('!', 'yellow')} {many} {said}"
        for line in wrap(one_line(error.message, 600), self.width - 4):
            yield f"    {line}"
        for result in results[:_MANY_FINDINGS]:
            flags = " CRITICAL" if result.critical else ""
            name = clip(one_line(label(result, trials=self.trials)), self.width - 6 - len(flags))
            yield f"    - {name}{self.paint(flags, 'red')}"
        if len(results) > _MANY_FINDINGS:
            yield f"    … and {len(results) - _MANY_FINDINGS} more"

    def flaky(self, results: list[ResultView]) -> Iterator[str]:
        yield self.paint.bold("Flaky: the same case passed and failed")
        for result in results:
            line = f"{label(result, trials=self.trials)}: {result.status.value}{_tries(result)}"
            if found := first_failure(result):
                line += f"; {found.check}: {found.problem}"
            yield f"  {self.paint('~', 'yellow')} {clip(one_line(line), self.width - 4)}"

    def imperfect(self, results: Sequence[ResultView]) -> Iterator[str]:
        yield self.paint.bold(f"Passed with failed checks ({len(results)}): the score was high enough")
        for result in results[:_MANY_IMPERFECT]:
            yield from self.heading("✓", "yellow", result, f"({score_text(result)})")
            checks = broken_checks(result.assertion_results)
            for check in checks[:_MANY_IMPERFECT_CHECKS]:
                yield from self.explain(finding(check, result.transcript))
            if len(checks) > _MANY_IMPERFECT_CHECKS:
                yield f"    … and {len(checks) - _MANY_IMPERFECT_CHECKS} more failed checks"
        if len(results) > _MANY_IMPERFECT:
            yield f"  … and {len(results) - _MANY_IMPERFECT} more cases"

    def summary(self) -> Iterator[str]:
        run, summary = self.document.run, self.document.run.summary
        model = f" · {one_line(run.model, 80)}" if run.model else ""
        yield self.paint.bold(f"{one_line(run.integration_name, 80)} · {run.provider.value}{model}")
        yield self.paint.dim(f"run {run.id} ({run.status.value})")
        if summary is None:
            yield "no summary yet: the run is not over"
            return
        yield self.counts(summary)
        yield from self.rates(summary)
        yield from self.tools()
        if summary.by_category:
            yield from self.categories(summary.by_category)

    def counts(self, summary: RunSummary) -> str:
        parts = [f"{summary.total} results of {summary.cases} cases"]
        for number, word, color in (
            (summary.passed, "passed", "green"),
            (summary.failed, "failed", "red"),
            (summary.error, "error", "yellow"),
            (summary.cancelled, "cancelled", "yellow"),
            (summary.flaky, "flaky", "yellow"),
        ):
            if number or word in {"passed", "failed", "error"}:
                parts.append(self.paint(f"{number} {word}", color) if number else f"{number} {word}")
        return ", ".join(parts)

    def rates(self, summary: RunSummary) -> Iterator[str]:
        graded = summary.first_attempt_passed + summary.first_attempt_failed
        rate = percent(summary.pass_rate)
        if summary.pass_rate is not None:
            rate += f" of {graded} graded, first attempts"
        if summary.pass_rate_ci95 is not None:
            low, high = summary.pass_rate_ci95
            rate += f"; 95 % interval {percent(low)} to {percent(high)}"
        yield _line("pass rate", rate)
        if self.document.run.retries_on_failure:
            yield _line("  retried", percent(summary.pass_rate_after_retries))
        yield from self.repeats(summary)
        if summary.avg_score is not None:
            yield _line("score", f"{summary.avg_score:.1f} (scored {summary.scored} of {summary.total})")
        latency = f"p50 {seconds(summary.latency_p50_ms)}, p95 {seconds(summary.latency_p95_ms)}"
        if summary.latency_p50_ms is not None:
            yield _line("latency", latency)
        tokens = summary.usage.total + summary.judge_usage.total
        yield _line("cost", money(summary.cost_cents) + (f" ({tokens} tokens)" if tokens else ""))
        if summary.duration_ms is not None:
            yield _line("time", seconds(summary.duration_ms))
        if summary.errors_by_code:
            codes = ", ".join(f"{one_line(code, 64)} x {n}" for code, n in summary.errors_by_code.items())
            yield _line("errors", codes)
        if summary.needs_review:
            yield _line("review", f"{summary.needs_review} results need a person's look")

    def repeats(self, summary: RunSummary) -> Iterator[str]:
        for name, text in (("repeats", repeats_text(summary)), ("unstable", unstable_text(summary))):
            for number, part in enumerate(wrap(text, self.width - 11) if text else ()):
                yield _line("" if number else name, part)

    def tools(self) -> Iterator[str]:
        if (runner := runner_text(self.document)) is not None:
            yield _line("runner", runner)
        text = one_line(" · ".join(map(str, weather_counts(self.document))), 2_000)
        for number, part in enumerate(wrap(text, self.width - 11)):
            yield _line("weather" if number == 0 else "", part)

    def categories(self, groups: dict[str, GroupSummary]) -> Iterator[str]:
        names = {name: clip(one_line(name, 64), _CATEGORY_WIDTH) for name in groups}
        column = max(*map(cells, names.values()), len("category"))
        yield ""
        yield self.paint.dim(f"{pad('category', column)}  passed  failed  error  score")
        for name, group in groups.items():
            score = f"{group.avg_score:5.1f}" if group.avg_score is not None else "    -"
            partial = f"  scored {group.scored} of {group.total}" if group.scored < group.total else ""
            failed, error = self.count(group.failed, 6, "red"), self.count(group.error, 5, "yellow")
            row = f"{group.passed:6}  {failed}  {error}"
            yield f"{pad(names[name], column)}  {row}  {score}{self.paint.dim(partial)}"

    def count(self, number: int, width: int, color: str) -> str:
        return self.paint(f"{number:{width}}", color) if number else f"{number:{width}}"

    def gate(self) -> Iterator[str]:
        decision = self.document.run.gate_decision
        if decision is None:
            return
        words, color = _GATE_WORDS[decision.outcome]
        yield ""
        unstated = f" ({NO_GATE})" if self.document.run.gate is None else ""
        yield self.paint(words, color) + unstated + (":" if decision.reasons else "")
        for reason in decision.reasons:
            lines = wrap(one_line(reason.message, 600), self.width - 4)
            for number, line in enumerate(lines):
                yield ("  - " if number == 0 else "    ") + line


def _alike(results: Sequence[ResultView]) -> Iterable[list[ResultView]]:
    """Put results with one and the same error together, in the order of the first of each."""
    groups: dict[object, list[ResultView]] = {}
    for result in results:
        apart = result.error is None or broken_checks(result.assertion_results)
        groups.setdefault(result.id if apart else result.error, []).append(result)
    return groups.values()


def _tries(result: ResultView) -> str:
    return f"; {result.attempt_count} attempts" if result.attempt_count > 1 else ""


def _line(name: str, text: str) -> str:
    return f"{pad(name, 10)} {text}"
