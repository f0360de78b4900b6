"""A run to take away: as JSON, JUnit, Markdown or CSV."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from proctor_api.auth import Caller
from proctor_contracts.schemas.runs import RunDocument
from proctor_reports.junit import render_junit
from proctor_reports.markdown import render_markdown
from proctor_reports.spreadsheet import render_csv

from .results import Results

__all__ = ["Export", "ExportFormat", "Exports"]


class ExportFormat(StrEnum):
    """What a run can be exported as."""

    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Export:
    """A rendered run."""

    media_type: str
    filename: str
    body: str


class Exports:
    """Renders runs."""

    def __init__(self, *, results: Results) -> None:
        self._results = results

    async def export(self, caller: Caller, run_id: UUID, fmt: ExportFormat) -> Export:
        """Render a run whole.

        Raises:
            ApiError: 404.
        """
        return rendered(await self._results.document(caller, run_id), fmt)


def rendered(document: RunDocument, fmt: ExportFormat) -> Export:
    """Render a run's document."""
    name = f"run-{document.run.id}"
    match fmt:
        case ExportFormat.JSON:
            return Export("application/json", f"{name}.json", document.model_dump_json(indent=2))
        case ExportFormat.JUNIT:
            return Export("application/xml", f"{name}.xml", render_junit(document))
        case ExportFormat.MARKDOWN:
            return Export("text/markdown; charset=utf-8", f"{name}.md", render_markdown(document))
        case ExportFormat.CSV:
            return Export("text/csv; charset=utf-8", f"{name}.csv", render_csv(document))
        case _:
            assert_never(fmt)
