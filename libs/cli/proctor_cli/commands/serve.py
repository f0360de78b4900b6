"""`proctor serve`: one service as a process of its own."""

from __future__ import annotations

import click

from proctor_cli.exits import ExitCode

__all__ = ["command"]

SERVICES = ("api", "runner", "judge", "scheduler", "alerter")


@click.command("serve", short_help="Run one service against RabbitMQ and PostgreSQL.")
@click.argument("service", type=click.Choice(SERVICES))
def command(service: str) -> int:
    """Run SERVICE until it is told to stop; settings come from the environment (docs/operations.md)."""
    from proctor_cli.embedded.serve import serve  # noqa: PLC0415 - the services are imported for this alone

    serve(service)
    return ExitCode.PASSED
