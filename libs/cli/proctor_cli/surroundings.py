"""The options every command takes, before its name or behind it: which platform, how loud, what colours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from .context import Context

__all__ = ["add_surroundings"]

_Change = Callable[["Context", Any], "Context"]


def add_surroundings(command: click.Command) -> None:
    """Let a command take the common options, once, and those of a group as well."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        add_surroundings(inner)
    known = {name for parameter in command.params for name in parameter.opts}
    for names, help_, flag, change in _OPTIONS:
        if known.isdisjoint(names):
            command.params.append(
                click.Option(
                    list(names), help=help_, is_flag=flag, expose_value=False, callback=_changing(change)
                )
            )


def _changing(change: _Change) -> Callable[[click.Context, click.Parameter, Any], None]:
    def changed(ctx: click.Context, _parameter: click.Parameter, value: Any) -> None:
        if value and ctx.obj is not None:
            ctx.obj = change(ctx.obj, value)

    return changed


_OPTIONS: tuple[tuple[tuple[str, ...], str, bool, _Change], ...] = (
    (
        ("--server",),
        "Use the server at this URL. [PROCTOR_SERVER]",
        False,
        lambda context, url: replace(context, target=replace(context.target, server=url)),
    ),
    (
        ("--key",),
        "The server's API key. [PROCTOR_API_KEY]",
        False,
        lambda context, key: replace(context, target=replace(context.target, key=key)),
    ),
    (
        ("--state",),
        "Folder of the embedded platform. [PROCTOR_STATE, else .proctor]",
        False,
        lambda context, folder: replace(context, target=replace(context.target, state=Path(folder))),
    ),
    (
        ("-q", "--quiet"),
        "Say nothing but what was asked for, and what went wrong.",
        True,
        lambda context, _: replace(context, screen=replace(context.screen, quiet=True)),
    ),
    (
        ("--no-color",),
        "No colours. [NO_COLOR]",
        True,
        lambda context, _: replace(context, screen=replace(context.screen, color=False)),
    ),
)
