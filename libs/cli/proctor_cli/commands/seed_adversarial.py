"""`proctor seed-adversarial`: a pack of attacks, into an integration or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode, Stop
from proctor_cli.reporting import check_writable, write_report
from proctor_reports.text import visible

if TYPE_CHECKING:
    from proctor_contracts.schemas.adversarial import SeedAdversarial, SeedOutcome

__all__ = ["command"]

_NOBODY = UUID(int=0)
_PARTS = ("judge", "prompt", "tools")


@click.command("seed-adversarial", short_help="Add ready attacks to an integration, or write them to a file.")
@click.option("--integration", metavar="ID", help="The integration's id or name.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="YAML for a suite."
)
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@click.option("--locale", type=click.Choice(("uk", "en", "both")), default="uk", show_default=True)
@click.option("--pack", type=click.Choice(("core", "extended")), default="core", show_default=True)
@click.option("--brand", metavar="NAME", help="The bot's brand as it is officially written.")
@click.option("--brand-cyr", metavar="NAME", help="Its Cyrillic spelling, which must not be used.")
@click.option("--competitor", "competitors", multiple=True, metavar="NAME", help="Repeatable.")
@click.option(
    "--without",
    type=click.Choice(_PARTS),
    multiple=True,
    help="Leave out the judge's criteria, or (for a file) what needs the prompt or recorded tool calls.",
)
@click.option(
    "--tool", "tools", multiple=True, metavar="NAME", help="For a file: a tool of the bot. Repeatable."
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@pass_context
def command(
    context: Context,
    /,
    *,
    integration: str | None,
    out: Path | None,
    force: bool,
    without: tuple[str, ...],
    tools: tuple[str, ...],
    as_json: bool,
    **wanted: Any,
) -> int:
    """Add eight attacks (or twenty more with --pack extended), each with guards that code decides.

    With --integration they go into the platform, where cases that are there already are skipped; with --out
    into a file, and no platform is needed.
    """
    if (integration is None) == (out is None):
        raise click.UsageError("give --integration, or --out for a file")
    if out is None and (tools or force or set(without) - {"judge"}):
        raise click.UsageError("--tool, --force and --without prompt or tools belong to --out")
    body = _body({key: value for key, value in wanted.items() if value}, judge="judge" not in without)
    if out is not None:
        outcome = _written(body, out, force=force, without=without, tools=tools)
    else:
        outcome = context.use(lambda platform: _seeded(platform, str(integration), body))
    for warning in outcome.warnings:
        context.screen.complain(visible(f"warning: {warning.message}"))
    if as_json:
        context.screen.show(outcome.model_dump_json(indent=2))
    elif out is not None:
        context.screen.show(f"wrote {outcome.created} cases to {out}; a suite takes them in with")
        context.screen.show(f"  cases: [{{file: {out.name}}}]")
    else:
        context.screen.show(f"{outcome.total} cases: {outcome.created} created, {outcome.skipped} skipped")
    return ExitCode.PASSED


def _body(wanted: dict[str, Any], *, judge: bool) -> SeedAdversarial:
    from pydantic import ValidationError  # noqa: PLC0415 - `--help` does without it

    from proctor_contracts.schemas.adversarial import SeedAdversarial  # noqa: PLC0415 - as above

    try:
        return SeedAdversarial.model_validate({"integration_id": _NOBODY, "judge": judge, **wanted})
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        option = str(found["loc"][0]).replace("competitors", "competitor").replace("_", "-")
        raise click.UsageError(f"--{option.replace('brandCyr', 'brand-cyr')}: {found['msg']}") from error


async def _seeded(platform: Platform, integration: str, body: SeedAdversarial) -> SeedOutcome:
    found = await platform.find_integration(integration)
    return await platform.seed_adversarial(body.model_copy(update={"integration_id": found.id}))


def _written(
    body: SeedAdversarial, out: Path, *, force: bool, without: tuple[str, ...], tools: tuple[str, ...]
) -> SeedOutcome:
    from proctor_casefiles.packs.building import Seen, Wishes, build_pack, wishes_problems  # noqa: PLC0415 - only here
    from proctor_casefiles.packs.suite import suite_text  # noqa: PLC0415 - as above
    from proctor_contracts.schemas.adversarial import SeedOutcome  # noqa: PLC0415 - as above

    if out.exists() and not force:
        raise Stop(ExitCode.USAGE, f"{out} is there already; choose another file, or --force")
    check_writable(out)
    wishes = Wishes(
        locale=body.locale,
        pack=body.pack,
        brand=body.brand,
        brand_cyr=body.brand_cyr,
        competitors=body.competitors,
        judge=body.judge,
        seen=Seen(prompt="prompt" not in without, tool_calls="tools" not in without, tools=tools),
    )
    if problems := wishes_problems(wishes):
        raise click.UsageError("; ".join(problem.message for problem in problems))
    pack = build_pack(wishes)
    write_report(out, suite_text(pack.cases))
    count = len(pack.cases)
    return SeedOutcome(created=count, skipped=0, total=count, warnings=pack.warnings)
