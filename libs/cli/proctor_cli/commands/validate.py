"""`proctor validate`: everything that is wrong with a suite, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode

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
    from proctor_cli.suite.checks import checked  # noqa: PLC0415 - the regex engine is not needed for --schema
    from proctor_cli.suite.load import load_suite  # noqa: PLC0415 - as above

    loaded = load_suite(suite, context.env)
    found = checked(loaded)
    for problem in found.problems:
        context.screen.complain(str(problem))
    for warning in found.warnings:
        context.screen.say(f"warning: {warning}")
    if found.problems or (strict and found.warnings):
        context.screen.complain(f"{len(found.problems)} problems, {len(found.warnings)} warnings")
        return ExitCode.USAGE
    active = sum(case.is_active for case in loaded.cases)
    context.screen.show(f"{loaded.name}: {len(loaded.cases)} cases ({active} active), no problems")
    return ExitCode.PASSED
