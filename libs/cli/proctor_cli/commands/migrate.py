"""`proctor migrate`: the database's tables, up to date."""

from __future__ import annotations

import click

from proctor_cli.administering import administration
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode

__all__ = ["command"]


@click.command("migrate", short_help="Bring the database's tables up to date.")
@pass_context
def command(context: Context) -> int:
    """Bring the database of PROCTOR_DATABASE_URL, or of the state folder, up to date; safe to repeat."""
    with administration(context) as database:
        changed = database.migrate()
    context.screen.show("the database was brought up to date" if changed else "the database is up to date")
    return ExitCode.PASSED
