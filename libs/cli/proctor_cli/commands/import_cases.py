"""`proctor import-cases`: a spreadsheet's cases into an integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode, Stop
from proctor_reports.text import visible

if TYPE_CHECKING:
    from proctor_contracts.schemas.imports import ImportOutcome, ImportProblem

__all__ = ["command"]

LARGEST = 5 * 1024 * 1024
_File = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import-cases", short_help="Bring cases of a spreadsheet into an integration.")
@click.option("--xlsx", type=_File, required=True, metavar="FILE", help="The workbook, at most 5 MiB.")
@click.option("--integration", required=True, metavar="ID", help="The integration's id or name.")
@click.option("--owner", metavar="ID", help="The account's id or name, to make sure; the key decides.")
@click.option("--sheet", metavar="NAME", help="Else the first visible sheet that has the headers.")
@click.option(
    "--categories", type=_File, metavar="FILE", help="Usual checks by category. [PROCTOR_CASE_CATEGORIES]"
)
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would happen.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@pass_context
def command(
    context: Context,
    *,
    xlsx: Path,
    integration: str,
    owner: str | None,
    sheet: str | None,
    categories: Path | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Create or update the cases of FILE, matched by ID; rows with a problem are named and left out.

    Ends with 0; with 1 when some rows had a problem; with 3 when the file cannot be taken at all.
    """
    data, table = _bytes(xlsx), None if categories is None else _bytes(categories)

    async def bring(platform: Platform) -> ImportOutcome:
        found = await platform.find_integration(integration)
        return await platform.import_cases(
            found.id, data, name=xlsx.name, dry_run=dry_run, owner=owner, sheet=sheet, categories=table
        )

    outcome = context.use(bring)
    if as_json:
        context.screen.show(outcome.model_dump_json(indent=2))
    else:
        for warning in outcome.warnings:
            context.screen.say(f"warning: {_line(warning)}")
        for problem in outcome.problems:
            context.screen.complain(_line(problem))
        context.screen.show(visible(_counts(outcome)))
    return ExitCode.FAILED if outcome.problems else ExitCode.PASSED


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise Stop(ExitCode.USAGE, f"{path} is larger than {LARGEST:,} bytes (5 MiB); import it in parts")
        return path.read_bytes()
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"cannot read {path}: {error.strerror}") from error


def _line(said: ImportProblem) -> str:
    place = "!".join(part for part in (said.sheet, said.cell) if part) or said.path
    return f"{place}: {said.message}" if place else said.message


def _counts(outcome: ImportOutcome) -> str:
    would = "would be " if outcome.dry_run else ""
    wrong = outcome.skipped - outcome.unchanged
    return (
        f"{outcome.total} cases: {would}{outcome.created} created, {outcome.updated} updated, "
        f"{outcome.unchanged} unchanged, {wrong} left out"
    )
