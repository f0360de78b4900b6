"""The bite score for people: on a terminal and in Markdown, the wrong conversations that pass first."""

from __future__ import annotations

import json
from collections.abc import Iterator

from proctor_contracts.schemas.bite import (
    BiteOutcome,
    BiteReport,
    BiteSummary,
    CaseBite,
    MutantStatus,
    MutantView,
    Suggestion,
)

from .markdown import code
from .paint import Paint
from .text import clip, one_line, wrap

__all__ = ["bite_headline", "render_bite", "render_bite_markdown"]

_LISTED = 50
_MUTANTS = 20
_STATUS = {
    MutantStatus.SURVIVED: ("✗", "red", "passes"),
    MutantStatus.LEFT_TO_JUDGE: ("?", "yellow", "left to the judge"),
    MutantStatus.UNDECIDED: ("?", "yellow", "only a run can tell"),
    MutantStatus.KILLED: ("✓", "green", "fails"),
}
_HOW = (
    "A case without a reference has no score: give it one that solves the case, `reference: {messages: "
    "[{content: …, toolCalls: […]}], outcomes: {…}}`. What is listed for it passes even so."
)
_QUIET = frozenset({MutantStatus.KILLED, MutantStatus.LEFT_TO_JUDGE, MutantStatus.UNDECIDED})


def bite_headline(summary: BiteSummary) -> str:
    """Put the summary into one line."""
    decided = summary.killed + summary.survived
    if summary.score is None:
        score = "no bite score"
    else:
        score = f"bite score {summary.score}: {summary.killed} of {decided} wrong conversations fail"
    parts = [
        score,
        *_counted(summary.left_to_judge, "left to the judge"),
        *_counted(summary.undecided, "that only a run can tell"),
        f"{summary.cases} {'case' if summary.cases == 1 else 'cases'}",
        *_counted(summary.with_survivors, "of them with survivors"),
        *_counted(summary.no_reference, "without a reference"),
        *_counted(summary.reference_fails, "whose reference fails"),
    ]
    return ", ".join(parts)


def render_bite(report: BiteReport, *, width: int = 100, color: bool = False, every: bool = False) -> str:
    """Render for a terminal: cases with survivors and cases without a score; with `every`, all mutants."""
    return "\n".join(_lines(report, width=max(width, 40), paint=Paint(color), every=every)) + "\n"


def render_bite_markdown(report: BiteReport, *, every: bool = False) -> str:
    """Render as Markdown in which nothing foreign can act."""
    return "\n".join(_marked(report, every=every)) + "\n"


def _lines(report: BiteReport, *, width: int, paint: Paint, every: bool) -> Iterator[str]:
    for case in report.cases:
        shown = _shown(case, every=every)
        if not _worth(case, every=every):
            continue
        yield paint.bold(clip(f"{_score(case)}  {_label(case)}", width))
        if message := _message(case):
            yield from (f"  {line}" for line in wrap(message, width - 2))
        for mutant in shown:
            mark, colour, said = _STATUS[mutant.status]
            first, *rest = wrap(one_line(f"{mutant.kind}, {said}: {mutant.change}", 400), width - 4)
            yield f"  {paint(mark, colour)} {first}"
            yield from (f"    {line}" for line in rest)
            if mutant.suggestion is not None:
                yield from (f"      {line}" for line in wrap(_advice(mutant.suggestion), width - 6))
        if every:
            for left in case.skipped:
                yield from (
                    f"  - {line}" for line in wrap(one_line(f"{left.kind}: {left.reason}"), width - 4)
                )
        yield ""
    yield from wrap(bite_headline(report.summary), width)
    if report.summary.no_reference:
        yield from wrap(_HOW, width)
    for tally in report.summary.kinds:
        decided = tally.killed + tally.survived
        open_ = tally.left_to_judge + tally.undecided
        yield f"  {tally.kind:<22} {tally.killed} of {decided} fail" + (f", {open_} open" if open_ else "")


def _marked(report: BiteReport, *, every: bool) -> Iterator[str]:
    yield f"## {bite_headline(report.summary)}"
    yield ""
    if report.summary.kinds:
        yield "| wrong conversation | fails | passes | left to the judge | only a run can tell |"
        yield "| --- | --: | --: | --: | --: |"
        for one in report.summary.kinds:
            counts = f"{one.killed} | {one.survived} | {one.left_to_judge} | {one.undecided}"
            yield f"| {one.kind} | {counts} |"
        yield ""
    if report.summary.no_reference:
        yield _HOW
        yield ""
    worth = [case for case in report.cases if _worth(case, every=every)]
    for case in worth[:_LISTED]:
        yield f"### {_score(case)}: {code(_label(case))}"
        yield ""
        if message := _message(case):
            yield code(message, 600)
            yield ""
        shown = _shown(case, every=every)
        for mutant in shown[:_MUTANTS]:
            yield f"- **{mutant.kind}**, {_STATUS[mutant.status][2]}: {code(mutant.change, 400)}"
            if mutant.suggestion is not None:
                yield f"  {code(_advice(mutant.suggestion), 600)}"
        if len(shown) > _MUTANTS:
            yield f"- and {len(shown) - _MUTANTS} more"
        yield ""
    if len(worth) > _LISTED:
        yield f"And {len(worth) - _LISTED} more."


def _shown(case: CaseBite, *, every: bool) -> list[MutantView]:
    ordered = sorted(case.mutants, key=lambda one: list(_STATUS).index(one.status))
    return [one for one in ordered if every or one.status not in _QUIET]


def _worth(case: CaseBite, *, every: bool) -> bool:
    """Whether a case has anything to tell that the summary does not."""
    sound = case.outcome in {BiteOutcome.SCORED, BiteOutcome.NO_REFERENCE}
    return every or not sound or bool(_shown(case, every=False))


def _message(case: CaseBite) -> str:
    return "" if case.outcome is BiteOutcome.NO_REFERENCE else one_line(case.message, 600)


def _label(case: CaseBite) -> str:
    name = f"{case.ref} · {case.name}" if case.ref and case.ref != case.name else case.name
    return f"{one_line(name, 200)} [{one_line(case.category, 64)}]"


def _score(case: CaseBite) -> str:
    match case.outcome:
        case BiteOutcome.SCORED:
            return f"score {case.score}"
        case BiteOutcome.NO_REFERENCE:
            return "no reference"
        case BiteOutcome.REFERENCE_FAILS:
            return "reference fails"
        case BiteOutcome.NOTHING_DECIDED:
            return "nothing decided"


def _advice(suggestion: Suggestion) -> str:
    if suggestion.assertion is None:
        return one_line(suggestion.message, 400)
    written = json.dumps(suggestion.assertion, ensure_ascii=False)
    return one_line(f"{suggestion.message}: {written}", 900)


def _counted(number: int, what: str) -> list[str]:
    return [f"{number} {what}"] if number else []
