"""`proctor export`: a run as a document."""

from __future__ import annotations

from pathlib import Path

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.exits import ExitCode
from proctor_cli.history import rows
from proctor_cli.playing import document_with_history
from proctor_cli.reporting import FORMATS, check_writable, render, write_report
from proctor_contracts.diff import RunDiff
from proctor_contracts.schemas.runs import RunDocument

__all__ = ["command"]


@click.command("export", short_help="Write a run as json, junit, markdown or csv.")
@click.argument("run", metavar="RUN")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="json", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Else to stdout.")
@click.option("--baseline", metavar="RUN", help="In Markdown, put first what broke since this run.")
@pass_context
def command(context: Context, *, run: str, format_: str, output: Path | None, baseline: str | None) -> int:
    """Write RUN whole, in a format that others read."""
    wanted, older = run_id(run), run_id(baseline) if baseline else None
    if output is not None:
        check_writable(output)

    async def read(platform: Platform) -> tuple[RunDocument, RunDiff | None]:
        document = await document_with_history(platform, wanted)
        if older is None:
            return document, None
        from proctor_grading.diff import diff  # noqa: PLC0415 - comparing is rare, and so is its import

        before = await document_with_history(platform, older)
        return document, diff(older, wanted, rows(before), rows(document))

    document, diff = context.use(read)
    text = render(document, next(one for one in FORMATS if one == format_), diff)
    if output is None:
        context.screen.show(text)
    else:
        write_report(output, text)
    return ExitCode.PASSED
