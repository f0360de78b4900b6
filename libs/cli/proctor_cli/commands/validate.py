"""`proctor validate`: everything that is wrong with a suite, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode

if TYPE_CHECKING:
    from proctor_cli.suite.checks import Checked
    from proctor_cli.suite.model import Draft

__all__ = ["command"]


@click.command("validate", short_help="Check a suite file; no model is called.")
@click.argument("suite", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--schema", is_flag=True, help="Print the JSON Schema of suite files, for editors, and end.")
@click.option("--strict", is_flag=True, help="Let warnings count as problems.")
@pass_context
def command(context: Context, *, suite: Path | None, schema: bool, strict: bool) -> int:
    """Check SUITE: its form, its patterns and schemas, and that reference solutions pass their own case.

    Ends with 0 when the suite can be run, else 3.
    """
    if schema:
        from proctor_cli.suite.schema import suite_schema  # noqa: PLC0415 - only for --schema

        context.screen.show(json.dumps(suite_schema(), indent=2, ensure_ascii=False))
        return ExitCode.PASSED
    if suite is None:
        raise click.UsageError("name a suite file, or give --schema")
    from proctor_cli.suite.problems import in_order  # noqa: PLC0415 - not needed for --schema

    draft, found = _examined(suite, context)
    for problem in in_order(found.problems):
        context.screen.complain(str(problem))
    for warning in in_order(found.warnings):
        context.screen.say(f"warning: {warning}")
    counts = f"{_counted(len(found.problems), 'problem')}, {_counted(len(found.warnings), 'warning')}"
    if found.problems or (strict and found.warnings):
        context.screen.complain(counts)
        return ExitCode.USAGE
    active = sum(case.is_active for case in draft.cases)
    said = f", {_counted(len(found.warnings), 'warning')}" if found.warnings else ""
    cases = _counted(len(draft.cases), "case")
    context.screen.show(f"{suite}: {cases} ({active} active), no problems{said}")
    return ExitCode.PASSED


def _examined(path: Path, context: Context) -> tuple[Draft, Checked]:
    """Find everything at once: a fault in one case hides none of another's."""
    from proctor_cli.suite.checks import Checked, checked, faults_of  # noqa: PLC0415 - brings the regex engine
    from proctor_cli.suite.doubts import missing_values  # noqa: PLC0415 - not needed for --schema
    from proctor_cli.suite.load import read_draft  # noqa: PLC0415 - as above
    from proctor_cli.suite.problems import SuiteProblem, dotted  # noqa: PLC0415 - as above

    draft = read_draft(path, context.env)
    if draft.suite is None:
        faults = faults_of(draft.cases, draft.origins, prompt=draft.prompt)
        return draft, Checked([*draft.problems, *faults], draft.warnings)
    found = checked(draft.suite)
    if context.target.server is not None:  # its own environment counts, which is not seen from here
        return draft, found
    missing = missing_values(draft.suite.header, context.env)
    named = [SuiteProblem(str(path), None, dotted(place), text) for place, text in missing]
    return draft, Checked(found.problems, [*found.warnings, *named])


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
