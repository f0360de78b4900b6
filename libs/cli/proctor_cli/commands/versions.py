"""`proctor versions`: the versions of a bot's prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TextIO, TypeVar

import click

from proctor_cli.client import Platform, PlatformRefused
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode, Stop
from proctor_contracts.schemas.agents import AgentView, VersionCreate, VersionView
from proctor_reports.text import one_line
from proctor_reports.versions import render_version, render_version_diff, render_versions

__all__ = ["command"]

T = TypeVar("T")
_NUMBER = re.compile(r"v?([1-9][0-9]{0,8})", re.IGNORECASE)
_json = click.option("--json", "as_json", is_flag=True, help="As JSON, for scripts.")
_version = click.argument("version", metavar="vN")


@click.group(
    "versions",
    short_help="List, show, activate and compare versions of a bot's prompt.",
    invoke_without_command=True,
)
@click.argument("integration", metavar="BOT")
@click.pass_context
def command(ctx: click.Context, *, integration: str) -> int:
    """Work with the prompt versions of BOT, an integration by its name or id; without a command, list them.

    Versions are named by number: v3, 3, or `current`.
    """
    ctx.meta["proctor.bot"] = integration
    if ctx.invoked_subcommand is None:
        return int(ctx.invoke(listed, take=50, as_json=False))
    return ExitCode.PASSED


@command.command("list")
@click.option("--take", type=click.IntRange(1, 200), default=50, show_default=True, help="How many.")
@_json
@pass_context
def listed(context: Context, *, take: int, as_json: bool) -> int:
    """List versions, newest first; * marks the current one."""

    async def read(platform: Platform, agent: AgentView) -> tuple[AgentView, tuple[VersionView, ...]]:
        return agent, await platform.versions(agent.id, take=take)

    agent, versions = _with_agent(context, read)
    if as_json:
        documents = [version.model_dump(mode="json") for version in versions]
        context.screen.show(json.dumps(documents, ensure_ascii=False, indent=2))
    else:
        context.screen.show(render_versions(agent, versions, width=context.screen.width))
    return ExitCode.PASSED


@command.command("show")
@_version
@_json
@pass_context
def show(context: Context, *, version: str, as_json: bool) -> int:
    """Show a version whole."""
    found = _with_agent(context, lambda platform, agent: _named(platform, agent, version))
    context.screen.show(found.model_dump_json(indent=2) if as_json else render_version(found))
    return ExitCode.PASSED


@command.command("add")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--notes", help="What is different about it.")
@click.option("--activate", is_flag=True, help="Make it the current one at once.")
@pass_context
def add(context: Context, *, file: TextIO, notes: str | None, activate: bool) -> int:
    """Add the prompt in FILE (- for stdin) as a new version."""
    body = VersionCreate.model_validate({"prompt": _text(file)} | ({} if notes is None else {"notes": notes}))

    async def added(platform: Platform, agent: AgentView) -> VersionView:
        made = await platform.create_version(agent.id, body)
        if activate:
            await platform.activate_version(agent.id, made.id)
        return made

    made = _with_agent(context, added)
    context.screen.show(f"v{made.version_number} {'is current now' if activate else 'is a draft'}")
    return ExitCode.PASSED


@command.command("activate")
@_version
@pass_context
def activate(context: Context, *, version: str) -> int:
    """Make a version the current one, and the integration's prompt with it."""

    async def activated(platform: Platform, agent: AgentView) -> tuple[VersionView, AgentView]:
        found = await _named(platform, agent, version)
        return found, await platform.activate_version(agent.id, found.id)

    found, _ = _with_agent(context, activated)
    context.screen.show(f"v{found.version_number} is current now")
    return ExitCode.PASSED


@command.command("rollback")
@_version
@pass_context
def rollback(context: Context, *, version: str) -> int:
    """Clone a version into a new one and make that current."""

    async def rolled(platform: Platform, agent: AgentView) -> tuple[VersionView, VersionView]:
        old = await _named(platform, agent, version)
        return old, await platform.rollback_version(agent.id, old.id)

    old, new = _with_agent(context, rolled)
    context.screen.show(f"v{new.version_number}, a clone of v{old.version_number}, is current now")
    return ExitCode.PASSED


@command.command("sync")
@pass_context
def sync(context: Context) -> int:
    """Keep what the integration says now as an immutable version, without activating it."""
    made = _with_agent(context, lambda platform, agent: platform.sync_agent(agent.id))
    context.screen.show(f"v{made.version_number} is a snapshot of the integration's prompt")
    return ExitCode.PASSED


@command.command("diff")
@click.argument("left", metavar="vA")
@click.argument("right", metavar="vB")
@_json
@pass_context
def diff(context: Context, *, left: str, right: str, as_json: bool) -> int:
    """Say word by word what changed from version A to version B."""

    async def compared(platform: Platform, agent: AgentView) -> str:
        before, after = await _named(platform, agent, left), await _named(platform, agent, right)
        found = await platform.diff_versions(agent.id, before.id, after.id)
        if as_json:
            return found.model_dump_json(indent=2)
        return render_version_diff(found, color=context.screen.color)

    context.screen.show(_with_agent(context, compared))
    return ExitCode.PASSED


def _text(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise Stop(ExitCode.USAGE, f"{file.name} is not UTF-8 text: {error}") from None


def _with_agent(context: Context, work: Callable[[Platform, AgentView], Awaitable[T]]) -> T:
    """Do some work with the agent of the bot that was named."""
    name = str(click.get_current_context().meta["proctor.bot"])

    async def found(platform: Platform) -> T:
        try:
            integration = await platform.find_integration(name)
        except PlatformRefused as refused:
            if refused.problem.status != HTTPStatus.NOT_FOUND:
                raise
            where = f"there is no bot {one_line(name, 100)!r}"
            raise Stop(
                ExitCode.USAGE, f"{where}; `proctor run SUITE` makes the one of its suite"
            ) from refused
        return await work(platform, await platform.agent_of(integration.id))

    return context.use(found)


async def _named(platform: Platform, agent: AgentView, name: str) -> VersionView:
    if name == "current":
        number = agent.current_version.version_number if agent.current_version else None
    elif (match := _NUMBER.fullmatch(name)) is not None:
        number = int(match[1])
    else:
        raise Stop(ExitCode.USAGE, f"{name!r} names no version; write v3, 3 or `current`")
    found = await platform.versions(agent.id, number=number, take=1) if number is not None else ()
    if not found:
        raise Stop(ExitCode.USAGE, f"there is no version {name}; `versions BOT list` shows those there are")
    return found[0]
