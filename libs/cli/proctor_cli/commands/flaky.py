"""`proctor flaky`: which cases pass one time and fail another."""

from __future__ import annotations

from uuid import UUID

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.exits import ExitCode, Stop
from proctor_contracts.schemas.runs import RunView
from proctor_contracts.stability import StabilityReport
from proctor_reports.stability import render_stability

__all__ = ["command"]


@click.command("flaky", short_help="List the cases that pass one time and fail another.")
@click.argument("like", metavar="[RUN]", required=False)
@click.option("--bot", help="The integration, by name or id, instead of the newest run's.")
@click.option("--runs", type=click.IntRange(1, 200), default=50, show_default=True, help="How far back.")
@click.option("--take", type=click.IntRange(1, 200), default=50, show_default=True, help="How many cases.")
@click.option("--all", "every", is_flag=True, help="Also cases that always end alike.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for scripts.")
@pass_context
def command(
    context: Context, *, like: str | None, bot: str | None, runs: int, take: int, every: bool, as_json: bool
) -> int:
    """Say which cases passed one time and failed another, from their first attempts.

    Only runs with the same provider, model and prompt as RUN count (the newest run if none is named), and
    only what was tried of a case since it was last changed.
    """
    wanted = None if like is None else run_id(like)
    if wanted is not None and bot is not None:
        raise Stop(ExitCode.USAGE, "name a run or a bot, not both: a run belongs to one bot")

    async def read(platform: Platform) -> StabilityReport | None:
        run = await _run(platform, wanted, bot)
        if run is None:
            return None
        return await platform.stability(run.integration_id, like=wanted, runs=runs, take=take)

    report = context.use(read)
    screen = context.screen
    if report is None:
        if bot is not None:
            raise Stop(ExitCode.USAGE, f"no run of a bot {bot!r}; `proctor runs` lists runs with their bots")
        screen.say("no runs yet; `proctor run SUITE` makes one")
    elif as_json:
        screen.show(report.model_dump_json(indent=2))
    else:
        screen.show(render_stability(report, every=every, width=screen.width, color=screen.color))
    return ExitCode.PASSED


async def _run(platform: Platform, wanted: UUID | None, bot: str | None) -> RunView | None:
    """Find a run of the bot that is meant."""
    if wanted is not None:
        return await platform.get_run(wanted)
    for run in await platform.runs(take=1 if bot is None else 200):
        if bot in {None, run.integration_name, str(run.integration_id)}:
            return run
    return None
