"""`proctor up`: the whole product on a laptop."""

from __future__ import annotations

import click

from proctor_chassis.loop import run
from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode
from proctor_cli.state import StateFolder

__all__ = ["command"]


@click.command("up", short_help="Run the whole product in this process.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="0 chooses one."
)
@pass_context
def command(context: Context, *, host: str, port: int) -> int:
    """Serve the API with a database file in the state folder, and play the runs it is given, until Ctrl-C."""
    from proctor_cli.embedded.up import up  # noqa: PLC0415 - the services cost most of a start

    def ready(url: str, key: str) -> None:
        context.screen.show(
            f"Proctor is up at {url} (reference: {url}/api/docs); press Ctrl-C to stop\n\n"
            f"export PROCTOR_SERVER={url} PROCTOR_API_KEY={key}"
        )

    folder = StateFolder(context.target.state)
    run(up(folder, host=host, port=port, env=context.env, ready=ready))
    context.screen.say("stopped; everything is kept")
    return ExitCode.PASSED
