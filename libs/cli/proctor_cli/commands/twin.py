"""`proctor twin`: the integration's handlers on loopback, for a team without a staging environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from proctor_cli.client import Platform
from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.exits import ExitCode, Stop
from proctor_cli.suite.load import load_suite
from proctor_contracts.schemas.runs import RunDocument
from proctor_contracts.transcript import ToolCallRecord

__all__ = ["command"]

PORT = 3010
"""Where a run looks for relative handlers unless INTEG_CORE_URL says otherwise."""


@click.command("twin", short_help="Play the suite's handlers on loopback.")
@click.argument("suite", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="0 chooses one."
)
@click.option(
    "--from", "source", metavar="RUN|FILE", help="Answer as in this run, or in a run exported as json."
)
@pass_context
def command(context: Context, *, suite: Path, port: int, source: str | None) -> int:
    """Answer in place of SUITE's handlers until Ctrl-C.

    A call that was recorded is answered as it was then, and what was written here is read back. Anything
    else is made up from the handler's example body or schema.
    """
    from proctor_chassis.loop import run  # noqa: PLC0415 - a loop is only needed to serve
    from proctor_cli.embedded.twin import Twin, serve_twin  # noqa: PLC0415 - the services cost most of a start

    loaded = load_suite(suite, context.env)
    if not loaded.handlers:
        raise Stop(ExitCode.USAGE, f"{loaded.name} has no integration.handlers to play")
    twin = Twin(
        integration=loaded.integration.name,
        handlers=loaded.handlers,
        recorded=() if source is None else _recorded(context, source),
        tell=context.screen.say,
    )
    for name in twin.elsewhere:
        context.screen.complain(
            f"warning: {name} has an absolute url, which runs call wherever it leads; point it here"
        )

    def ready(url: str) -> None:
        places = "\n".join(f"  {place}" for place in twin.places)
        context.screen.show(f"The handlers of {loaded.integration.name} answer at {url}\n{places}\n")
        context.screen.show(f"export INTEG_CORE_URL={url}")

    run(serve_twin(twin, port=port, ready=ready))
    context.screen.say("stopped; what was written here is forgotten")
    return ExitCode.PASSED


def _recorded(context: Context, source: str) -> Sequence[ToolCallRecord]:
    file = Path(source)
    if file.is_file():
        try:
            document = RunDocument.model_validate_json(file.read_bytes())
        except (OSError, ValueError) as error:
            message = f"{file} is no run exported as json (proctor export RUN --format json): {error}"
            raise Stop(ExitCode.USAGE, message[:500]) from error
    else:
        wanted = run_id(source)

        async def read(platform: Platform) -> RunDocument:
            return await platform.document(wanted)

        document = context.use(read)
    return [call for result in document.results for entry in result.transcript for call in entry.tool_calls]
