"""`proctor diff`: two runs side by side."""

from __future__ import annotations

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.exits import ExitCode
from proctor_contracts.diff import RunDiff
from proctor_reports.changes import render_diff

__all__ = ["command"]


@click.command("diff", short_help="Compare two runs case by case.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for scripts.")
@pass_context
def command(context: Context, *, first: str, second: str, as_json: bool) -> int:
    """Say what changed from run A to run B, and whether that is more than noise.

    Ends with 0 whatever the difference; deciding is the gate's.
    """
    before, after = run_id(first), run_id(second)

    async def compared(platform: Platform) -> RunDiff:
        return await platform.diff(before, after)

    diff = context.use(compared)
    screen = context.screen
    shown = (
        diff.model_dump_json(indent=2)
        if as_json
        else render_diff(diff, width=screen.width, color=screen.color)
    )
    screen.show(shown)
    return ExitCode.PASSED
