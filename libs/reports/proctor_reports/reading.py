"""What every report says of a run: its parts in one order and one wording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proctor_contracts.enums import ResultStatus
from proctor_contracts.results import AssertionResult, Verdict
from proctor_contracts.schemas.runs import ResultView, RunDocument
from proctor_contracts.transcript import TranscriptEntry

__all__ = [
    "NO_GATE",
    "Finding",
    "broken_checks",
    "by_status",
    "finding",
    "first_failure",
    "imperfect",
    "label",
    "money",
    "percent",
    "place",
    "score_text",
    "seconds",
]

NO_GATE = "no gate stated: every case must pass"
"""What every report says beside a decision by the rule that holds where no gate is stated."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check that did not pass, in words; texts are raw and still to be made safe for their medium."""

    check: str
    problem: str
    expected: str | None
    seen: str | None
    where: str | None
    notes: tuple[str, ...] = ()


def label(result: ResultView, *, trials: bool) -> str:
    """Name a result: its reference and name, the trial where a run has several, and its weather."""
    name = f"{result.case_ref} · {result.case_name}" if result.case_ref else result.case_name
    facts = [f"trial {result.trial}"] if trials else []
    if result.weather is not None:
        facts.append(result.weather)
    return f"{name} [{', '.join(facts)}]" if facts else name


def by_status(document: RunDocument, *statuses: ResultStatus) -> tuple[ResultView, ...]:
    """Pick results by how they ended, critical cases first."""
    picked = [result for result in document.results if result.status in statuses]
    return tuple(sorted(picked, key=lambda result: not result.critical))


def imperfect(document: RunDocument) -> tuple[ResultView, ...]:
    """Pick the results that passed though a check of theirs did not, critical cases first."""
    passed = by_status(document, ResultStatus.PASSED)
    return tuple(result for result in passed if broken_checks(result.assertion_results))


def broken_checks(checks: Sequence[AssertionResult]) -> tuple[AssertionResult, ...]:
    """Pick the checks that failed or could not be decided, failures first."""
    order = {Verdict.FAILED: 0, Verdict.UNRESOLVED: 1}
    return tuple(
        sorted((check for check in checks if check.verdict in order), key=lambda check: order[check.verdict])
    )


def finding(check: AssertionResult, transcript: Sequence[TranscriptEntry]) -> Finding:
    """Put one broken check into words."""
    title = f"{check.kind} [{check.ref}]" if check.ref else check.kind
    if check.required:
        title += " (required)"
    problem = check.message if check.message != "ok" else (check.code or check.verdict.value)
    if check.verdict is Verdict.UNRESOLVED:
        problem = f"could not be decided: {problem}"
    return Finding(
        check=title,
        problem=problem,
        expected=check.expected,
        seen=check.seen,
        where=place(check, transcript),
        notes=check.notes,
    )


def place(check: AssertionResult, transcript: Sequence[TranscriptEntry]) -> str | None:
    """Say where in the conversation something was seen."""
    if check.where is None:
        return None
    parts: list[str] = []
    entry = check.where.entry
    if entry is not None and 0 <= entry < len(transcript):
        said = transcript[entry]
        # A reader counts what one side said, not the entries of a list.
        number = sum(one.role is said.role for one in transcript[: entry + 1])
        turn = "" if said.turn is None else f" (turn {said.turn})"
        parts.append(f"{said.role.value} message {number}{turn}")
    elif entry is not None:
        parts.append(f"entry {entry + 1} of the conversation")
    if check.where.excerpt and check.where.excerpt != check.seen:
        parts.append(f"“{check.where.excerpt}”")
    return ", ".join(parts) or None


def first_failure(result: ResultView) -> Finding | None:
    """Find what broke first: of the deciding attempt, else of the latest earlier one (a flaky pass)."""
    for checks, transcript in _attempts(result):
        for check in broken_checks(checks):
            return finding(check, transcript)
    return None


def _attempts(result: ResultView) -> Iterator[tuple[Sequence[AssertionResult], Sequence[TranscriptEntry]]]:
    yield result.assertion_results, result.transcript
    for attempt in reversed(result.attempts):
        yield attempt.assertion_results, attempt.transcript


def score_text(result: ResultView) -> str:
    """Write a score, or the interval it is known by, against its threshold."""
    if result.score is not None:
        return f"score {result.score}, needs {result.threshold}"
    if result.score_min is not None and result.score_max is not None:
        return f"score between {result.score_min} and {result.score_max}, needs {result.threshold}"
    return "no score"


def percent(rate: float | None) -> str:
    """Write a rate of 0-1 as a percentage with one decimal."""
    if rate is None:
        return "unknown"
    text = f"{rate * 100:.1f}"
    # Rounding must not turn "nearly all" into all, nor "hardly any" into none.
    if text == "100.0" and rate < 1:
        text = "99.9"
    if text == "0.0" and rate > 0:
        text = "0.1"
    return f"{text.removesuffix('.0')} %"


def money(cents: float | None) -> str:
    """Write cents as dollars; an unknown price is said to be unknown, never zero."""
    if cents is None:
        return "unknown"
    dollars = cents / 100
    return f"${dollars:.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.6f}".rstrip("0")


def seconds(millis: int | None) -> str:
    """Write a duration in the unit a reader thinks in."""
    if millis is None:
        return "unknown"
    if millis < 1_000:  # noqa: PLR2004 - below a second
        return f"{millis} ms"
    if millis < 120_000:  # noqa: PLR2004 - below two minutes
        return f"{millis / 1000:.1f} s"
    minutes, rest = divmod(millis // 1000, 60)
    return f"{minutes} min {rest} s"
