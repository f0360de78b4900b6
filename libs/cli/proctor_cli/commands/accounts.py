"""`proctor accounts`: who may use this installation, and how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from proctor_cli.administering import LimitType, administration
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode
from proctor_reports.text import one_line, pad

if TYPE_CHECKING:
    from proctor_cli.embedded.admin import AccountView, Limit

__all__ = ["command"]

_balance = click.option("--balance-cents", type=LimitType(), help="What may be spent, or `unlimited`.")
_concurrent = click.option("--max-concurrent", type=LimitType(), help="Conversations at a time.")
_personal = click.option(
    "--personal-data",
    type=click.Choice(["replace", "keep"]),
    help="Captured conversations: placeholders instead of personal data, or all as it came.",
)
_runs = click.option("--runs-per-minute", type=LimitType(), help="Runs that may be started.")


@click.group("accounts", short_help="Create, list and limit accounts.")
def command() -> None:
    """Create, list and limit accounts, in the database of PROCTOR_DATABASE_URL or of the state folder."""


@command.command("create")
@click.argument("name")
@_balance
@_concurrent
@_runs
@_personal
@pass_context
def create(
    context: Context,
    *,
    name: str,
    balance_cents: Limit,
    max_concurrent: Limit,
    runs_per_minute: Limit,
    personal_data: str | None,
) -> int:
    """Make the account NAME; what is not limited is unlimited."""
    with administration(context) as database:
        limits = _limits(balance_cents, max_concurrent, runs_per_minute)
        keeps = _keeps(personal_data)
        context.screen.show(_line(database.create_account(name, limits, keeps_personal_data=keeps)))
    return ExitCode.PASSED


@command.command("set")
@click.argument("name")
@_balance
@_concurrent
@_runs
@_personal
@pass_context
def change(
    context: Context,
    *,
    name: str,
    balance_cents: Limit,
    max_concurrent: Limit,
    runs_per_minute: Limit,
    personal_data: str | None,
) -> int:
    """Change what is given of the account NAME."""
    with administration(context) as database:
        limits = _limits(balance_cents, max_concurrent, runs_per_minute)
        keeps = _keeps(personal_data)
        context.screen.show(_line(database.set_account(name, limits, keeps_personal_data=keeps)))
    return ExitCode.PASSED


@command.command("list")
@pass_context
def listed(context: Context) -> int:
    """List every account."""
    with administration(context) as database:
        for account in database.accounts():
            context.screen.show(_line(account))
    return ExitCode.PASSED


def _keeps(personal_data: str | None) -> bool | None:
    return None if personal_data is None else personal_data == "keep"


def _limits(balance_cents: Limit, max_concurrent: Limit, runs_per_minute: Limit) -> dict[str, Limit]:
    return {
        "balance_cents": balance_cents,
        "max_concurrent": max_concurrent,
        "runs_per_minute": runs_per_minute,
    }


def _line(account: AccountView) -> str:
    balance, at_once, runs = (
        "unlimited" if limit is None else f"{limit:g}"
        for limit in (account.balance_cents, account.max_concurrent, account.runs_per_minute)
    )
    name = pad(one_line(account.name, 40), 24)
    personal = ", keeps personal data" if account.keeps_personal_data else ""
    return (
        f"{account.id}  {name}  balance {balance} cents, at a time {at_once}, runs a minute {runs}{personal}"
    )
