"""Markdown for a pull-request comment: short, what matters first, and nothing in it can act.

All foreign text stands in code spans or fences whose delimiter is longer than any run of backticks inside:
there no link, image, mention, HTML or emphasis is read, on GitHub and GitLab alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from proctor_contracts.diff import CaseChange, RunDiff
from proctor_contracts.enums import ResultStatus
from proctor_contracts.gate import GateOutcome
from proctor_contracts.schemas.runs import ResultView, RunDocument
from proctor_contracts.summary import GroupSummary, RunSummary

from .evidence import category_texts, rates_text, repeats_text, unstable_text, verdict_text
from .reading import (
    NO_GATE,
    broken_checks,
    by_status,
    finding,
    imperfect,
    label,
    money,
    percent,
    score_text,
    seconds,
)  # fmt: skip
from .text import one_line, visible
from .tools import conversation, ledger, runner_text, shows_ledger, weather_counts

__all__ = ["code", "fence", "render_markdown"]

_MOST_CASES = 30
_MOST_TRANSCRIPTS = 10
_MANY_WRITES = 10
_TRANSCRIPT_CHARS = 3_000
_LONGEST = 60_000  # GitHub refuses a comment over 65,536 characters
_HEADLINES = {
    GateOutcome.PASSED: "✅ gate passed",
    GateOutcome.FAILED: "❌ gate failed",
    GateOutcome.UNDECIDED: "⚠️ gate could not decide",
}
_BACKTICKS = re.compile(r"`+")


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def code(text: str, limit: int = 300, *, in_table: bool = False) -> str:
    """Put foreign text into a code span it cannot leave; a bar, which would end a table's cell, is broken."""
    line = one_line(text, limit) or " "
    if in_table:
        line = line.replace("|", "¦")
    ticks = "`" * (_longest_run(line) + 1)
    edge = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{edge}{line}{edge}{ticks}"


def fence(text: str) -> Iterator[str]:
    """Put foreign text into a fenced block it cannot close."""
    shown = visible(text)
    ticks = "`" * max(3, _longest_run(shown) + 1)
    yield f"{ticks}text"
    yield from shown.split("\n")
    yield ticks


def render_markdown(document: RunDocument, diff: RunDiff | None = None) -> str:
    """Render a run as Markdown; with a diff against a baseline, what is newly broken comes first."""
    lines: list[str] = []
    size = 0
    for block in _Comment(document, diff).blocks():
        size += len(block) + 1
        if size > _LONGEST:
            lines += ["", "_The rest is left out; the JSON report has it whole._"]
            break
        lines.append(block)
    return "\n".join(lines) + "\n"


class _Comment:
    def __init__(self, document: RunDocument, diff: RunDiff | None) -> None:
        self.document = document
        self.diff = diff
        self.trials = document.run.repeats > 1
        broken = diff.cases if diff else ()
        self.broken = {case.case_id for case in broken if case.change is CaseChange.BROKEN}

    def blocks(self) -> Iterator[str]:
        """Yield lines, or several as one where they must stay together."""
        run = self.document.run
        decision = run.gate_decision
        headline = _HEADLINES[decision.outcome] if decision else run.status.value
        unstated = f" ({NO_GATE})" if decision and run.gate is None else ""
        yield f"### Proctor: {code(run.integration_name, 128)}: {headline}{unstated}"
        yield ""
        for reason in decision.reasons if decision else ():
            yield f"- {code(reason.message)}"
        if run.summary:
            yield ""
            yield from self.numbers(run.summary)
        yield from self.tools()
        yield from self.changes()
        failed = by_status(self.document, ResultStatus.FAILED)
        newly = [result for result in failed if result.case_id in self.broken]
        known = [result for result in failed if result.case_id not in self.broken]
        yield from self.cases("Newly broken", newly)
        yield from self.cases("Still failing" if self.diff else "Failed", known)
        yield from self.cases("Errors: could not find out", by_status(self.document, ResultStatus.ERROR))
        yield from self.flaky()
        yield from self.cases("Passed with failed checks", imperfect(self.document))
        if run.summary and run.summary.by_category:
            yield from self.categories(run.summary.by_category)
        yield from self.transcripts([*newly, *known])
        yield ""
        yield f"<sub>run {run.id}</sub>"

    def numbers(self, summary: RunSummary) -> Iterator[str]:
        interval = ""
        if summary.pass_rate_ci95:
            low, high = summary.pass_rate_ci95
            interval = f" (95 % interval {percent(low)} to {percent(high)})"
        cells = {
            "passed": str(summary.passed),
            "failed": str(summary.failed),
            "error": str(summary.error),
            "flaky": str(summary.flaky),
            "pass rate, first attempts": percent(summary.pass_rate) + interval,
            "cost": money(summary.cost_cents),
            "p50 / p95": f"{seconds(summary.latency_p50_ms)} / {seconds(summary.latency_p95_ms)}",
        }
        if summary.cancelled:
            cells["cancelled"] = str(summary.cancelled)
        yield f"| {' | '.join(cells)} |"
        yield f"|{' --- |' * len(cells)}"
        yield f"| {' | '.join(cells.values())} |"
        if (repeats := repeats_text(summary)) is not None:
            unstable = unstable_text(summary)
            yield ""
            yield f"Repeats: {repeats}." + (f" Most unstable: {code(unstable)}." if unstable else "")

    def tools(self) -> Iterator[str]:
        if (runner := runner_text(self.document)) is not None:
            yield ""
            yield f"Runner: {runner}."
        if counts := weather_counts(self.document):
            yield f"Weather: {', '.join(code(str(count)) for count in counts)}."

    def changes(self) -> Iterator[str]:
        if self.diff is None:
            return
        counts = ", ".join(
            f"{number} {change.replace('_', ' ')}" for change, number in self.diff.counts.items() if number
        )
        yield ""
        yield f"Against run {self.diff.run_a}: {counts or 'no cases in common'}."
        if not self.diff.comparable:
            yield f"Not comparable: {code(self.diff.reason or 'too few cases in common')}"
        elif self.diff.test is not None:
            if (rates := rates_text(self.diff.test)) is not None:
                yield f"Over {self.diff.test.pairs} cases graded in both: {rates}."
            yield f"Paired test: {verdict_text(self.diff.test)}."
            for text in category_texts(self.diff.categories):
                yield f"- {code(text)}"

    def cases(self, title: str, results: Sequence[ResultView]) -> Iterator[str]:
        if not results:
            return
        yield ""
        yield f"#### {title} ({len(results)})"
        yield ""
        for result in results[:_MOST_CASES]:
            critical = " **critical**" if result.critical else ""
            line = (
                f"- {code(label(result, trials=self.trials), 200)}{critical} in {code(result.category, 64)}"
            )
            yield "\n".join([line, *self.why(result)])
        if len(results) > _MOST_CASES:
            yield f"- … and {len(results) - _MOST_CASES} more"

    def why(self, result: ResultView) -> Iterator[str]:
        if result.error is not None:
            yield f"  - {code(result.error.code, 64)}: {code(result.error.message)}"
        else:
            yield f"  - {score_text(result)}"
        for check in broken_checks(result.assertion_results)[:3]:
            found = finding(check, result.transcript)
            yield f"  - {code(f'{found.check}: {found.problem}')}"
            for name, text in (("expected", found.expected), ("seen", found.seen), ("where", found.where)):
                if text:
                    yield f"    - {name} {code(text)}"
        if shows_ledger(result):
            yield "  - written"
            yield from (f"    - {code(line)}" for line in ledger(result.effects)[:_MANY_WRITES])

    def flaky(self) -> Iterator[str]:
        results = [result for result in self.document.results if result.flaky]
        if not results:
            return
        yield ""
        yield f"#### Flaky ({len(results)})"
        yield ""
        for result in results[:_MOST_CASES]:
            name = code(label(result, trials=self.trials), 200)
            yield f"- {name}: {result.status.value} after {result.attempt_count} attempts"

    def categories(self, groups: dict[str, GroupSummary]) -> Iterator[str]:
        yield ""
        yield "| category | passed | failed | error | score |"
        yield "| --- | --- | --- | --- | --- |"
        for name, group in groups.items():
            score = f"{group.avg_score:.1f}" if group.avg_score is not None else "unknown"
            if group.scored < group.total:
                score += f" ({group.scored} of {group.total} scored)"
            cell = code(name, 64, in_table=True)
            yield f"| {cell} | {group.passed} | {group.failed} | {group.error} | {score} |"

    def transcripts(self, results: Sequence[ResultView]) -> Iterator[str]:
        for result in results[:_MOST_TRANSCRIPTS]:
            text = conversation(result.transcript)
            if not text:
                continue
            if len(text) > _TRANSCRIPT_CHARS:
                text = text[:_TRANSCRIPT_CHARS] + "\n… (cut)"
            name = code(label(result, trials=self.trials), 200)
            opening = ("", "<details><summary>Conversation</summary>", "", name, "")
            yield "\n".join([*opening, *fence(text), "", "</details>"])
