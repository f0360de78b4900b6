"""`proctor cancel`: the end of a run before its time."""

from __future__ import annotations

import click

from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.exits import ExitCode

__all__ = ["command"]


@click.command("cancel", short_help="End a run before its time.")
@click.argument("run", metavar="RUN")
@pass_context
def command(context: Context, *, run: str) -> int:
    """Cancel RUN: cases that are done keep their results; a run that is over stays as it is."""
    wanted = run_id(run)
    ended = context.use(lambda platform: platform.cancel(wanted))
    counts = ended.progress
    kept = counts.passed + counts.failed + counts.error
    context.screen.show(f"run {ended.id} is {ended.status.value}; {kept} of {counts.total} results are kept")
    return ExitCode.PASSED
