"""`proctor export-cases`: an integration's cases as a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode, Stop
from proctor_cli.reporting import check_writable

__all__ = ["command"]


@click.command("export-cases", short_help="Write an integration's cases as a spreadsheet.")
@click.option("--integration", required=True, metavar="ID", help="The integration's id or name.")
@click.option(
    "--xlsx",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="Where to write the workbook.",
)
@click.option("--category", metavar="NAME", help="Only the cases of this category.")
@click.option(
    "--language",
    type=click.Choice(["uk", "en", "ru"]),
    default="uk",
    show_default=True,
    help="Of the headers.",
)
@pass_context
def command(context: Context, *, integration: str, xlsx: Path, category: str | None, language: str) -> int:
    """Write the cases of an integration to FILE; importing it again changes nothing."""
    check_writable(xlsx)

    async def take(platform: Platform) -> bytes:
        found = await platform.find_integration(integration)
        return await platform.export_cases(found.id, category=category, language=language)

    body = context.use(take)
    try:
        xlsx.write_bytes(body)
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"cannot write {xlsx}: {error.strerror}") from error
    context.screen.say(f"{xlsx}: {len(body):,} bytes")
    return ExitCode.PASSED
