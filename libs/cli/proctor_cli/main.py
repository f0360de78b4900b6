"""The `proctor` command. Its commands are imported when they are used, so that it starts at once."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import click
from typing_extensions import override

from proctor_reports.text import visible

from .context import Context
from .exits import ExitCode, Stop
from .screen import real_screen
from .startup import hold_back
from .surroundings import add_surroundings
from .target import open_platform, target_from

__all__ = ["cli", "main", "run"]

_COMMANDS = {
    "run": "Run a suite file, explain its failures, decide its gate.",
    "validate": "Check a suite file; no model is called.",
    "bite": "See which wrong conversations a suite's checks let through.",
    "init": "Write a small suite that runs as it is.",
    "twin": "Play a suite's handlers on loopback.",
    "up": "Run the whole product in this process.",
    "serve": "Run one service against RabbitMQ and PostgreSQL.",
    "runs": "List runs.",
    "show": "Show the report of a run.",
    "cancel": "End a run before its time.",
    "diff": "Compare two runs case by case.",
    "compare": "Play a suite with several prompt versions and models, side by side.",
    "flaky": "List the cases that pass one time and fail another.",
    "versions": "List, show, activate and compare versions of a bot's prompt.",
    "export": "Write a run as json, junit, markdown or csv.",
    "gate": "Decide the release gate on a run that exists.",
    "import-cases": "Bring cases of a spreadsheet or another file into an integration.",
    "seed-adversarial": "Add ready attacks to an integration, or write them to a file.",
    "export-cases": "Write an integration's cases as a spreadsheet.",
    "accounts": "Create, list and limit accounts.",
    "keys": "Create, list and revoke API keys.",
    "migrate": "Bring the database's tables up to date.",
}


class _Lazy(click.Group):
    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.obj is None:
            ctx.obj = _surroundings()
        return super().parse_args(ctx, args)

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        found = importlib.import_module(f"proctor_cli.commands.{module}").command
        if not isinstance(found, click.Command):
            return None
        add_surroundings(found)
        return found

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS:
            from .suite.problems import suggestion  # noqa: PLC0415 - only for a typing mistake

            ctx.fail(f"there is no command {args[0]!r}; {suggestion(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="proctor", prog_name="proctor")
def cli() -> None:
    """Test conversational agents the way good teams test code.

    Exit codes: 0 gate passed, 1 gate failed, 2 could not decide, 3 wrong usage or an invalid suite.
    """


add_surroundings(cli)


def _surroundings() -> Context:
    return Context(
        env=os.environ,
        opener=open_platform,
        target=target_from(os.environ),
        screen=real_screen(os.environ),
    )


def run(args: Sequence[str], *, obj: Any = None) -> int:
    """Run the command and turn every ending into an exit code; complaints go to the surroundings' stderr."""
    errors: TextIO = sys.stderr if obj is None else obj.screen.err
    try:
        code = cli.main(args=list(args), obj=obj, prog_name="proctor", standalone_mode=False)
        return int(code or 0)
    except click.ClickException as error:
        error.show(file=errors)
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", file=errors)
        return ExitCode.UNDECIDED
    except Stop as stop:
        click.echo(f"proctor: {stop}", file=errors)
        return stop.code
    except Exception as error:  # noqa: BLE001 - a crash must not look like a failed gate (Python would exit 1)
        return _explained(error, errors)


_EXTRAS = {"asyncpg": "postgres", "alembic": "postgres", "fastapi": "web", "uvicorn": "web"}
"""Which extra brings a package that commands may find missing in the middle of their work."""


def _explained(error: Exception, errors: TextIO) -> int:
    from .client import PlatformRefused, PlatformUnavailable  # noqa: PLC0415 - only when something went wrong
    from .exits import refusal_code  # noqa: PLC0415 - as above
    from .suite.problems import SuiteInvalid  # noqa: PLC0415 - as above

    match error:
        case SuiteInvalid():
            count = len(error.problems)
            said = f"{error}\n{count} {'problem' if count == 1 else 'problems'}"
            click.echo(visible(said), file=errors)
            return ExitCode.USAGE
        case PlatformRefused():
            faults = [f"  {fault.path}: {fault.message}" for fault in error.problem.errors]
            click.echo(visible("\n".join([f"proctor: {error}", *faults])), file=errors)
            return refusal_code(error)
        case PlatformUnavailable():
            click.echo(visible(f"proctor: {error}"), file=errors)
            return ExitCode.UNDECIDED
        case ModuleNotFoundError() if extra := _EXTRAS.get((error.name or "").partition(".")[0]):
            from .exits import missing_package  # noqa: PLC0415 - as above

            click.echo(f"proctor: {missing_package('this', error, extra=extra)}", file=errors)
            return ExitCode.USAGE
        case _:
            import traceback  # noqa: PLC0415 - for a crash alone

            traceback.print_exception(error, file=errors)
            return ExitCode.UNDECIDED


def main() -> None:
    """Be the `proctor` command."""
    hold_back()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))
