"""`proctor keys`: keys for the API."""

from __future__ import annotations

import click

from proctor_cli.administering import administration
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode
from proctor_contracts.enums import KeyKind
from proctor_contracts.schemas.integrations import KeyView
from proctor_reports.text import one_line

__all__ = ["command"]

_account = click.option("--account", default="local", show_default=True, help="Whose keys.")


@click.group("keys", short_help="Create, list and revoke API keys.")
def command() -> None:
    """Create, list and revoke keys, in the database of PROCTOR_DATABASE_URL or of the state folder."""


@command.command("create")
@_account
@click.option("--public", is_flag=True, help="A key that may only read runs, results and events.")
@click.option("--name", default="key", show_default=True, help="What it is for.")
@pass_context
def create(context: Context, *, account: str, public: bool, name: str) -> int:
    """Make a key and print it; it is never shown again."""
    kind = KeyKind.PUBLIC if public else KeyKind.PRIVATE
    with administration(context) as database:
        made = database.create_key(account, kind, name)
    context.screen.say(f"a {kind.value} key of {account}; it is not shown again:")
    context.screen.show(made.key)
    return ExitCode.PASSED


@command.command("list")
@_account
@pass_context
def listed(context: Context, *, account: str) -> int:
    """List the keys that are good."""
    with administration(context) as database:
        for key in database.keys(account):
            context.screen.show(_line(key))
    return ExitCode.PASSED


@command.command("revoke")
@click.argument("key")
@_account
@pass_context
def revoke(context: Context, *, key: str, account: str) -> int:
    """End KEY, named by its id or its first characters as `list` shows them."""
    with administration(context) as database:
        ended = database.revoke_key(account, key)
    context.screen.show(f"revoked {_line(ended)}")
    return ExitCode.PASSED


def _line(key: KeyView) -> str:
    used = f"used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used"
    return f"{key.id}  {key.prefix}…  {key.kind.value:7}  {one_line(key.name, 60)}  {used}"
