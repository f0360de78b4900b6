"""`proctor import-cases`: the cases of a file into an integration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
_FILES = {
    "xlsx": "A workbook.",
    "golden": "A golden dataset: [{id, input, expected}].",
    "promptfoo": "A configuration of promptfoo, or a list of its tests.",
    "jsonl": "Conversations in OpenAI's messages form, one a line.",
    "cases": "A list of cases as the API takes them, in JSON or YAML.",
    "suite": "A suite file with everything it includes.",
}


def _files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each kind of file."""
    for name, text in reversed(_FILES.items()):
        command = click.option(f"--{name}", type=_File, metavar="FILE", help=text)(command)
    return command


@click.command("import-cases", short_help="Bring cases of a spreadsheet or another file into an integration.")
@_files
@click.option("--integration", metavar="ID", help="The integration's id or name; a suite brings its own.")
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
    /,
    *,
    integration: str | None,
    owner: str | None,
    sheet: str | None,
    categories: Path | None,
    dry_run: bool,
    as_json: bool,
    **files: Path | None,
) -> int:
    """Create or update the cases of one FILE of at most 5 MiB, matched by ID.

    Rows or entries with a problem are named and left out. Ends with 0; with 1 when some had a problem; with 3
    when the file cannot be taken at all.
    """
    format_, path = _one(files)
    if format_ != "xlsx" and (sheet is not None or categories is not None):
        raise click.UsageError("--sheet and --categories belong to --xlsx")
    if format_ == "suite":
        from proctor_cli.suite.load import load_suite  # noqa: PLC0415 - as above
        from proctor_cli.suite_import import bring_suite  # noqa: PLC0415 - brings the models of suites

        suite = load_suite(path, context.env)
        outcome = context.use(
            lambda platform: bring_suite(
                platform, suite, integration=integration, owner=owner, dry_run=dry_run
            )
        )
    else:
        if integration is None:
            raise click.UsageError("--integration is required, but for a suite")
        outcome = _brought(
            context,
            integration=integration,
            path=path,
            format_=format_,
            owner=owner,
            sheet=sheet,
            categories=categories,
            dry_run=dry_run,
        )
    _show(context, outcome, as_json=as_json)
    return ExitCode.FAILED if outcome.problems else ExitCode.PASSED


def _one(files: dict[str, Path | None]) -> tuple[str, Path]:
    given = [(name, path) for name, path in files.items() if path is not None]
    if len(given) != 1:
        raise click.UsageError(f"give one file, by one of {', '.join(f'--{name}' for name in _FILES)}")
    return given[0]


def _brought(
    context: Context,
    *,
    integration: str,
    path: Path,
    format_: str,
    owner: str | None,
    sheet: str | None,
    categories: Path | None,
    dry_run: bool,
) -> ImportOutcome:
    data, table = _bytes(path), None if categories is None else _bytes(categories)

    async def bring(platform: Platform) -> ImportOutcome:
        from proctor_contracts.schemas.imports import CaseFormat  # noqa: PLC0415 - `--help` does without it

        found = await platform.find_integration(integration)
        return await platform.import_cases(
            found.id,
            data,
            name=path.name,
            format_=None if format_ == "xlsx" else CaseFormat(format_),
            dry_run=dry_run,
            owner=owner,
            sheet=sheet,
            categories=table,
        )

    return context.use(bring)


def _show(context: Context, outcome: ImportOutcome, *, as_json: bool) -> None:
    if as_json:
        context.screen.show(outcome.model_dump_json(indent=2))
        return
    for warning in outcome.warnings:
        context.screen.say(f"warning: {_line(warning)}")
    for problem in outcome.problems:
        context.screen.complain(_line(problem))
    context.screen.show(visible(_counts(outcome)))


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
