"""`proctor compare`: a suite with several prompt versions and models, side by side."""

from __future__ import annotations

from pathlib import Path

import click

from proctor_cli.client import Platform
from proctor_cli.comparing import Model, compare_request, evidence, named_versions, suite_of, wait
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode
from proctor_cli.interrupts import interrupts
from proctor_cli.plan import Filters, Overrides, run_request, selected
from proctor_cli.playing import Player
from proctor_cli.suite.load import load_suite
from proctor_contracts.enums import Provider, Trigger
from proctor_contracts.schemas.compare import CompareDetail, CompareStatus
from proctor_reports.matrix import Evidence, render_compare

__all__ = ["command"]


def _names(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(filter(None, (name.strip() for name in value.split(","))))
    if not names:
        raise click.BadParameter("name at least one version, as in v1,v2")
    if unsafe := next((name for name in names if Path(name).name != name or name.startswith(".")), None):
        raise click.BadParameter(f"{unsafe!r} is no name of a version; write v1,v2")
    return names


def _models(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[Model, ...]:
    found = []
    for value in values:
        provider, slash, model = value.partition("/")
        if not slash or not model or provider not in {one.value for one in Provider}:
            raise click.BadParameter(f"{value!r}: write PROVIDER/MODEL, as in anthropic/claude-sonnet-4-5")
        found.append((Provider(provider), model))
    return tuple(found)


@click.command("compare", short_help="Play a suite with several prompt versions and models, side by side.")
@click.argument("suite", type=click.Path(exists=True, path_type=Path), metavar="SUITE|FOLDER")
@click.option(
    "--versions", required=True, callback=_names, metavar="v1,v2",
    help="Prompt versions; the first one is the baseline. A name is a file in the suite's `prompts` folder, "
    "else the number of a version that the bot has.",
)  # fmt: skip
@click.option(
    "--models", multiple=True, callback=_models, metavar="PROVIDER/MODEL",
    help="Play every version with this model. Repeatable; without it the suite's own.",
)  # fmt: skip
@click.option("--only", "refs", multiple=True, metavar="REF", help="Play this case. Repeatable.")
@click.option("--tag", "tags", multiple=True, help="Play cases with this tag. Repeatable.")
@click.option("--category", "categories", multiple=True, help="Play cases of this category. Repeatable.")
@click.option("--repeats", type=click.IntRange(1, 20), help="Trials of each case in each cell.")
@click.option("--budget-cents", type=click.IntRange(min=1), help="Never spend more, all cells together.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for scripts.")
@pass_context
def command(
    context: Context,
    *,
    suite: Path,
    versions: tuple[str, ...],
    models: tuple[Model, ...],
    refs: tuple[str, ...],
    tags: tuple[str, ...],
    categories: tuple[str, ...],
    repeats: int | None,
    budget_cents: int | None,
    as_json: bool,
) -> int:
    """Say which cases of SUITE break from one version or model to another, on what evidence, and whether
    that is more than noise.

    Ends with 0 whatever the difference, and with 2 when it was stopped; deciding is the gate's.
    """  # noqa: D205 - the first sentence needs two lines
    file = suite_of(suite)
    loaded = load_suite(file, context.env)
    for warning in loaded.warnings:
        context.screen.say(f"warning: {warning}")
    indexes = selected(loaded, Filters(refs, tags, categories))
    overrides = Overrides(repeats=repeats, budget_cents=budget_cents)
    trigger = Trigger.CI_CD if context.env.get("CI") else Trigger.MANUAL

    async def play(platform: Platform) -> tuple[CompareDetail, Evidence]:
        with interrupts() as interrupted:
            player = Player(platform=platform, suite=loaded, screen=context.screen, interrupted=interrupted)
            bot, ids = await player.save(indexes)
            agent = await platform.agent_of(bot)
            found = await named_versions(platform, agent.id, versions, file.parent)
            run = run_request(loaded, overrides, integration_id=bot, case_ids=ids, trigger=trigger)
            compare = await platform.start_compare(agent.id, compare_request(run, found, models))
            for warning in compare.warnings:
                context.screen.say(f"warning: {warning.path}: {warning.message}")
            detail = await wait(platform, compare, interrupted)
            return detail, await evidence(platform, detail)

    detail, failures = context.use(play, workers=True, replies=file.parent / "replies")
    screen = context.screen
    shown = (
        detail.model_dump_json(indent=2)
        if as_json
        else render_compare(detail, failures, width=screen.width, color=screen.color)
    )
    screen.show(shown)
    return ExitCode.UNDECIDED if detail.status is CompareStatus.CANCELLED else ExitCode.PASSED
