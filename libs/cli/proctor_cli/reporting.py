"""Reports asked for on the command line: which format, and where to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never, get_args

from proctor_contracts.diff import RunDiff
from proctor_contracts.schemas.runs import RunDocument

from .client import ExportFormat
from .exits import ExitCode, Stop

__all__ = ["FORMATS", "ReportRequest", "check_writable", "render", "report_request", "write_report"]

FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A report in a format; without a path it goes to stdout."""

    format: ExportFormat
    path: Path | None = None


def report_request(text: str) -> ReportRequest:
    """Read `FORMAT` or `FORMAT=PATH`; raises ValueError with what to write instead."""
    name, _, path = text.partition("=")
    for known in FORMATS:
        if name == known:
            return ReportRequest(known, Path(path) if path and path != "-" else None)
    raise ValueError(
        f"{name!r} is not a report format; use one of {', '.join(FORMATS)}, as in junit=report.xml"
    )


def render(document: RunDocument, format_: ExportFormat, diff: RunDiff | None = None) -> str:
    """Render a run in one of the formats."""
    match format_:
        case "json":
            return document.model_dump_json(indent=2) + "\n"
        case "junit":
            from proctor_reports.junit import render_junit  # noqa: PLC0415 - only the format asked for is loaded

            return render_junit(document)
        case "markdown":
            from proctor_reports.markdown import render_markdown  # noqa: PLC0415 - as above

            return render_markdown(document, diff)
        case "csv":
            from proctor_reports.spreadsheet import render_csv  # noqa: PLC0415 - as above

            return render_csv(document)
        case _:
            assert_never(format_)


def check_writable(path: Path) -> None:
    """Find out before a run, not after it, that its report has nowhere to go.

    Raises:
        Stop: when the folder cannot be made or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"cannot make {path.parent}: {error.strerror or error}") from error
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise Stop(ExitCode.USAGE, f"cannot write {path}")


def write_report(path: Path, text: str) -> None:
    """Write a report whole or not at all.

    Raises:
        Stop: when the file cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(text.encode("utf-8", "replace"))
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise Stop(ExitCode.USAGE, f"cannot write {path}: {error.strerror or error}") from error
