"""CSV for spreadsheets: one row per case and trial, safe to open and to read back.

The text starts with a byte-order mark: without one, Excel shows Cyrillic as mojibake, and readers that do
not want it have `utf-8-sig`. Quoting follows RFC 4180; every text cell is quoted, so that a semicolon does
not split it where that is the list separator.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator

from proctor_contracts.schemas.runs import ResultView, RunDocument

from .reading import first_failure
from .text import storable
from .tools import ledger

__all__ = ["COLUMNS", "guarded", "render_csv", "unguarded"]

BOM = "\ufeff"
COLUMNS = (
    "run", "ref", "name", "category", "priority", "critical", "tags", "trial", "status", "score", "threshold",
    "attempts", "flaky", "firstAttempt", "latencyMs", "durationMs", "costCents", "errorCode", "blame",
    "error", "failedCheck", "problem", "expected", "seen",
    "weather", "toolCalls", "writes",
)  # fmt: skip
_FORMULA_STARTS = frozenset("=+-@")
# What a spreadsheet skips before it decides that a cell is a formula: white space and what cannot be seen.
_SKIPPED = re.compile(r"^[\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff]*")


def _runs_in_a_spreadsheet(text: str) -> bool:
    if text[:1] in {"\t", "\r", "\n"}:
        return True
    rest = text[_SKIPPED.match(text).end() :]  # type: ignore[union-attr]  # the pattern matches the empty text too
    return bool(rest) and unicodedata.normalize("NFKC", rest[0])[:1] in _FORMULA_STARTS


def guarded(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run; text that has one stays as it is."""
    text = storable(text)
    return f"'{text}" if _runs_in_a_spreadsheet(text) else text


def unguarded(cell: str) -> str:
    """Take the apostrophe of `guarded` away again, so that reading back and writing again adds nothing."""
    return cell[1:] if cell.startswith("'") and _runs_in_a_spreadsheet(cell[1:]) else cell


def render_csv(document: RunDocument) -> str:
    """Render a run's results as CSV with CRLF line ends and a byte-order mark; numbers stay numbers."""
    out = io.StringIO(newline="")
    out.write(BOM)
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for result in document.results:
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in _row(document, result)])
    return out.getvalue()


def _row(document: RunDocument, result: ResultView) -> Iterator[str | int | float]:
    found = first_failure(result)
    yield str(document.run.id)
    yield result.case_ref or ""
    yield result.case_name
    yield result.category
    yield result.priority.value
    yield _flag(result.critical)
    yield " ".join(result.tags)
    yield result.trial
    yield result.status.value
    yield _or_empty(result.score)
    yield result.threshold
    yield result.attempt_count
    yield _flag(result.flaky)
    yield result.first_attempt_status.value if result.first_attempt_status else ""
    yield _or_empty(result.latency_ms)
    yield _or_empty(result.duration_ms)
    yield _or_empty(result.cost_cents)
    yield result.error.code if result.error else ""
    yield result.error.blame.value if result.error else ""
    yield result.error.message if result.error else ""
    yield found.check if found else ""
    yield found.problem if found else ""
    yield (found.expected or "") if found else ""
    yield (found.seen or "") if found else ""
    yield result.weather or ""
    yield " ".join(call.name for entry in result.transcript for call in entry.tool_calls)
    yield "\n".join(ledger(result.effects)) if result.effects else ""


def _flag(value: bool) -> str:  # noqa: FBT001 - it is the value being written
    return "true" if value else "false"


def _or_empty(value: float | None) -> str | int | float:
    return "" if value is None else value
