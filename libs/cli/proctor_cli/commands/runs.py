"""`proctor runs`: what was run lately."""

from __future__ import annotations

import json

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode
from proctor_contracts.enums import RunStatus
from proctor_contracts.schemas.runs import RunView
from proctor_reports.reading import NO_GATE, money, percent
from proctor_reports.text import one_line, pad

__all__ = ["command"]


@click.command("runs", short_help="List runs.")
@click.option("--take", type=click.IntRange(1, 200), default=20, show_default=True, help="How many.")
@click.option("--status", type=click.Choice([one.value for one in RunStatus]), help="Only these.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for scripts.")
@pass_context
def command(context: Context, *, take: int, status: str | None, as_json: bool) -> int:
    """List runs, newest first."""

    async def listed(platform: Platform) -> tuple[RunView, ...]:
        return await platform.runs(status=RunStatus(status) if status else None, take=take)

    runs = context.use(listed)
    if as_json:
        documents = [run.model_dump(mode="json", exclude={"case_ids"}) for run in runs]
        context.screen.show(json.dumps(documents, ensure_ascii=False, indent=2))
    elif not runs:
        context.screen.say("no runs yet; `proctor run SUITE` makes one")
    for run in () if as_json else runs:
        context.screen.show(_line(run))
    return ExitCode.PASSED


def _line(run: RunView) -> str:
    progress = run.progress
    counts = f"{progress.passed} passed, {progress.failed} failed, {progress.error} error of {progress.total}"
    rate = percent(run.summary.pass_rate) if run.summary else "-"
    gate = run.gate_decision.outcome.value if run.gate_decision else "-"
    when = run.created_at.strftime("%Y-%m-%d %H:%M")
    name = pad(one_line(run.integration_name, 24), 24)
    cost = money(run.summary.cost_cents) if run.summary else "-"
    unstated = f" ({NO_GATE})" if run.gate is None and run.gate_decision else ""
    line = f"{run.id}  {when}  {name}  {run.status.value:9}  {rate:>7}  gate {gate:9}  {cost:>8}  {counts}"
    return line + unstated
