"""`proctor run`: play a suite and decide its gate."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from uuid import UUID

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.exits import ExitCode, Stop
from proctor_cli.history import decided
from proctor_cli.interrupts import interrupts
from proctor_cli.plan import Filters, Overrides, selected
from proctor_cli.playing import Player, document_with_history, explained
from proctor_cli.reporting import ReportRequest, check_writable, render, report_request, write_report
from proctor_cli.suite.load import load_suite
from proctor_cli.suite.model import Suite
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.diff import RunDiff
from proctor_contracts.enums import Provider, Runner, RunStatus, Trigger
from proctor_contracts.schemas.runs import RunDocument
from proctor_contracts.weather import parse_weather

__all__ = ["command"]

Votes = Literal[1, 3, 5]
ToolErrors = Literal["error", "continue"]


def _reports(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[ReportRequest, ...]:
    try:
        return tuple(map(report_request, values))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _judge(_: click.Context, __: click.Parameter, value: str | None) -> JudgeSettings | None:
    if value is None:
        return None
    provider, slash, model = value.partition("/")
    if not slash or not model or provider not in {one.value for one in Provider}:
        raise click.BadParameter("write PROVIDER/MODEL, as in anthropic/claude-sonnet-4-5")
    return JudgeSettings(provider=Provider(provider), model=model)


def _weather(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    try:
        for value in values:
            parse_weather(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return values or None


@click.command("run", short_help="Run a suite file, explain its failures, decide its gate.")
@click.argument("suite", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--report",
    "reports",
    multiple=True,
    callback=_reports,
    metavar="FORMAT[=PATH]",
    help="Also write json, junit, markdown or csv; without a path, to stdout. Repeatable.",
)
@click.option("--only", "refs", multiple=True, metavar="REF", help="Run this case. Repeatable.")
@click.option("--tag", "tags", multiple=True, help="Run cases with this tag. Repeatable.")
@click.option("--category", "categories", multiple=True, help="Run cases of this category. Repeatable.")
@click.option("--repeats", type=click.IntRange(1, 20), help="Trials of each case.")
@click.option("--retries", type=click.IntRange(0, 5), help="Attempts after a failed one.")
@click.option("--concurrency", type=click.IntRange(1, 1000), help="Conversations at a time.")
@click.option("--budget-cents", type=click.FloatRange(min=0, min_open=True), help="Never spend more.")
@click.option("--provider", type=click.Choice([one.value for one in Provider]), help="Not the suite's.")
@click.option("--model", help="Not the suite's.")
@click.option("--runner", type=click.Choice([one.value for one in Runner]), help="Not the suite's.")
@click.option(
    "--dry-run/--no-dry-run", default=None, help="Whether tools with side effects are only played (gateway)."
)
@click.option("--on-tool-error", type=click.Choice(["error", "continue"]), help="When a tool is unreachable.")
@click.option(
    "--weather", "weather", multiple=True, callback=_weather, metavar="FAULT[@CALL][:TOOL]",
    help="Play each case under this weather (gateway): ok, timeout@2, 5xx, 429, malformed, stale, poison. "
    "Repeatable.",
)  # fmt: skip
@click.option("--judge", callback=_judge, metavar="PROVIDER/MODEL", help="The model that judges.")
@click.option("--judge-votes", type=click.Choice(["1", "3", "5"]), help="Votes a criterion.")
@click.option("--label", "labels", multiple=True, help="Tag the run. Repeatable.")
@click.option("--baseline", metavar="RUN", help="Name in reports what broke since this run (or `previous`).")
@click.option("--resume", metavar="RUN", help="Play what an interrupted run left, and report both.")
@pass_context
def command(
    context: Context,
    *,
    suite: Path,
    reports: tuple[ReportRequest, ...],
    refs: tuple[str, ...],
    tags: tuple[str, ...],
    categories: tuple[str, ...],
    repeats: int | None,
    retries: int | None,
    concurrency: int | None,
    budget_cents: float | None,
    provider: str | None,
    model: str | None,
    runner: str | None,
    dry_run: bool | None,
    on_tool_error: ToolErrors | None,
    weather: tuple[str, ...] | None,
    judge: JudgeSettings | None,
    judge_votes: str | None,
    labels: tuple[str, ...],
    baseline: str | None,
    resume: str | None,
) -> int:
    """Run SUITE and end with 0 (gate passed), 1 (failed), 2 (could not decide) or 3 (wrong usage)."""
    loaded = load_suite(suite, context.env)
    kept = loaded.without_cases()
    for warning in loaded.warnings:
        context.screen.say(f"warning: {warning}")
    indexes = selected(loaded, filters := Filters(refs, tags, categories))
    if resume is not None and filters:
        raise Stop(
            ExitCode.USAGE, "--resume plays what the old run left; it takes no --only, --tag or --category"
        )
    for report in reports:
        if report.path is not None:
            check_writable(report.path)
    judged = judge or loaded.header.judge
    if judge_votes is not None:
        if judged is None:
            raise Stop(ExitCode.USAGE, "--judge-votes needs a judge; give --judge PROVIDER/MODEL")
        judged = JudgeSettings(provider=judged.provider, model=judged.model, votes=_votes(judge_votes))
    overrides = Overrides(
        repeats=repeats, retries_on_failure=retries, concurrency=concurrency, budget_cents=budget_cents,
        provider=Provider(provider) if provider else None, model=model, judge=judged, tags=labels,
        runner=Runner(runner) if runner else None, dry_run=dry_run, on_tool_error=on_tool_error,
        weather=weather,
    )  # fmt: skip
    trigger = Trigger.CI_CD if context.env.get("CI") else Trigger.MANUAL

    # The player is the only one to hold the cases, and lets go of them once they are saved.
    loading = [loaded]
    del loaded

    async def play(platform: Platform) -> tuple[RunDocument, RunDiff | None, bool]:
        with interrupts() as interrupted:
            player = Player(
                platform=platform, suite=loading.pop(), screen=context.screen, interrupted=interrupted
            )
            if resume is not None:
                run = await player.resume(run_id(resume))
            else:
                run = await player.start(indexes, overrides, trigger)
            stopped = False if run.status.final else await player.follow(run)
            whole = reports or baseline is not None or resume is not None or stopped
            document = await (document_with_history if whole else explained)(platform, run.id)
            return document, await _compared(platform, document, baseline), stopped

    # Recorded replies travel with the suite they belong to.
    document, diff, stopped = context.use(play, workers=True, replies=suite.parent / "replies")
    return _finish(context, kept, document, diff, reports=reports, stopped=stopped)


def _votes(text: str) -> Votes:
    return {"1": 1, "3": 3, "5": 5}[text]  # type: ignore[return-value]  # click let nothing else through


async def _compared(platform: Platform, document: RunDocument, baseline: str | None) -> RunDiff | None:
    if baseline is None:
        return None
    if baseline != "previous":
        older: UUID | None = run_id(baseline)
    else:
        runs = await platform.runs(
            integration_id=document.run.integration_id, status=RunStatus.COMPLETED, take=20
        )
        older = next((run.id for run in runs if run.created_at < document.run.created_at), None)
    if older is None:
        return None
    from proctor_cli.history import rows  # noqa: PLC0415 - comparing is rare, and so is its import
    from proctor_grading.diff import diff  # noqa: PLC0415 - as above

    before = await document_with_history(platform, older)
    return diff(before.run.id, document.run.id, rows(before), rows(document))


def _finish(
    context: Context,
    suite: Suite,
    document: RunDocument,
    diff: RunDiff | None,
    *,
    reports: tuple[ReportRequest, ...],
    stopped: bool,
) -> int:
    from proctor_reports.terminal import render_terminal  # noqa: PLC0415 - not needed while the run goes on

    decision = document.run.gate_decision or decided(document, suite.gate)
    document = document.model_copy(
        update={"run": document.run.model_copy(update={"gate_decision": decision})}
    )
    screen = context.screen
    to_stdout = [report for report in reports if report.path is None]
    if to_stdout:
        screen.say(render_terminal(document, width=screen.width))
    elif not screen.quiet:
        screen.show(render_terminal(document, width=screen.width, color=screen.color))
    for report in reports:
        text = render(document, report.format, diff)
        if report.path is None:
            screen.show(text)
        else:
            write_report(report.path, text)
            screen.say(f"{report.format} report: {report.path}")
    if stopped or document.run.status is RunStatus.CANCELLED:
        screen.complain(f"go on with: proctor run {suite.name} --resume {document.run.id}")
    return decision.exit_code
