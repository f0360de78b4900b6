"""JUnit XML as CI systems show it: one testcase per case and trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from proctor_contracts.enums import ResultStatus
from proctor_contracts.schemas.runs import ResultView, RunDocument

from .reading import NO_GATE, Finding, broken_checks, finding, label, score_text
from .text import storable
from .tools import conversation, ledger, runner_text

__all__ = ["render_junit"]

_TRANSCRIPT_CHARS = 20_000
_MESSAGE_CHARS = 1_000
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# Inside an attribute a parser turns raw white space into spaces, so it is written as references.
_ATTRIBUTE_ESCAPES = _ESCAPES | {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_TEXT = str.maketrans(_ESCAPES)
_ATTRIBUTE = str.maketrans(_ATTRIBUTE_ESCAPES)


def render_junit(document: RunDocument) -> str:
    """Render a run as JUnit XML (UTF-8): a suite per category; failed, errored and cancelled stay apart.

    Characters that XML 1.0 forbids are replaced by U+FFFD. Results that never ran are skipped ones.
    """
    groups: dict[str, list[ResultView]] = {}
    for result in document.results:
        groups.setdefault(result.category, []).append(result)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f"<testsuites{_attributes(name=_suite_name(document), **_counts(document.results))}>")
    for category, results in groups.items():
        lines += _suite(document, category, results)
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _suite_name(document: RunDocument) -> str:
    return f"proctor: {document.run.integration_name}"


def _suite(document: RunDocument, category: str, results: Sequence[ResultView]) -> Iterator[str]:
    run = document.run
    started = run.started_at or run.created_at
    stamp = started.replace(tzinfo=None).isoformat(timespec="seconds")
    yield f"  <testsuite{_attributes(name=category, **_counts(results), timestamp=stamp)}>"
    yield "    <properties>"
    gate = run.gate_decision.outcome.value if run.gate_decision else "undecided"
    gate += "" if run.gate else f" ({NO_GATE})"
    facts = [("run", str(run.id)), ("provider", run.provider.value), ("gate", gate)]
    if (runner := runner_text(document)) is not None:
        facts.append(("runner", runner))
    for name, value in facts:
        yield f"      <property{_attributes(name=name, value=value)}/>"
    yield "    </properties>"
    for result in results:
        yield from _case(result, class_name=f"{run.integration_name}.{category}", trials=run.repeats > 1)
    yield "  </testsuite>"


def _case(result: ResultView, *, class_name: str, trials: bool) -> Iterator[str]:
    attributes = _attributes(
        classname=class_name, name=label(result, trials=trials), time=_time(result.duration_ms or 0)
    )
    children = list(_children(result))
    if not children:
        yield f"    <testcase{attributes}/>"
        return
    yield f"    <testcase{attributes}>"
    yield from children
    yield "    </testcase>"


def _children(result: ResultView) -> Iterator[str]:
    broken = broken_checks(result.assertion_results)
    findings = [finding(check, result.transcript) for check in broken]
    match result.status:
        case ResultStatus.PASSED:
            if result.flaky:
                yield _element("system-out", f"flaky: passed after {result.attempt_count} attempts")
            if findings:
                noted = f"passed with failed checks ({score_text(result)})"
                yield _element("system-out", f"{noted}\n\n{_explained(findings)}")
        case ResultStatus.FAILED:
            message = f"{findings[0].check}: {findings[0].problem}" if findings else "failed"
            kind = broken[0].kind if broken else "failed"
            yield _element("failure", _explained(findings), message=message, type=kind)
            yield _element("system-out", _conversation(result))
        case ResultStatus.ERROR:
            code = result.error.code if result.error else "unknown"
            text = f"{result.error.message}\nblame: {result.error.blame.value}" if result.error else "unknown"
            body = "\n\n".join(part for part in (text, _explained(findings)) if part)
            yield _element("error", body, message=f"{code}: {text}", type=code)
            yield _element("system-out", _conversation(result))
        case ResultStatus.CANCELLED | ResultStatus.PENDING | ResultStatus.RUNNING:
            yield _element(
                "skipped", "", message=f"{result.status.value}: the run ended before this case did"
            )
        case _:
            assert_never(result.status)


def _explained(findings: Sequence[Finding]) -> str:
    blocks = []
    for found in findings:
        lines = [f"{found.check}: {found.problem}"]
        for name, text in (("expected", found.expected), ("seen", found.seen), ("where", found.where)):
            if text:
                lines.append(f"  {name}: {text}")
        lines += [f"  note: {note}" for note in found.notes]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _conversation(result: ResultView) -> str:
    text = conversation(result.transcript)
    if result.effects:
        text = "\n".join([text, "", "written:", *(f"  {line}" for line in ledger(result.effects))])
    return text if len(text) <= _TRANSCRIPT_CHARS else text[:_TRANSCRIPT_CHARS] + "\n… (cut)"


def _counts(results: Sequence[ResultView]) -> dict[str, str]:
    statuses = [result.status for result in results]
    failures = statuses.count(ResultStatus.FAILED)
    errors = statuses.count(ResultStatus.ERROR)
    passed = statuses.count(ResultStatus.PASSED)
    return {
        "tests": str(len(results)),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": str(len(results) - failures - errors - passed),
        "time": _time(sum(result.duration_ms or 0 for result in results)),
    }


def _time(millis: int) -> str:
    return f"{millis / 1000:.3f}"


def _element(tag: str, text: str, **attributes: str) -> str:
    head = f"      <{tag}{_attributes(**attributes)}"
    return f"{head}>{storable(text).translate(_TEXT)}</{tag}>" if text else f"{head}/>"


def _attributes(**attributes: str) -> str:
    return "".join(
        f' {name}="{storable(value[:_MESSAGE_CHARS]).translate(_ATTRIBUTE)}"'
        for name, value in attributes.items()
    )
