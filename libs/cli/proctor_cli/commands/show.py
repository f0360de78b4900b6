"""`proctor show`: the report of a run, once more."""

from __future__ import annotations

import difflib
import unicodedata

import click

from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.exits import ExitCode
from proctor_cli.history import decided
from proctor_cli.playing import document_with_history
from proctor_contracts.schemas.runs import ResultView, RunDocument
from proctor_reports.reading import label
from proctor_reports.terminal import render_terminal
from proctor_reports.text import one_line, visible

__all__ = ["command"]

_MOST_NEAR = 5


@click.command("show", short_help="Show the report of a run.")
@click.argument("run", metavar="RUN")
@click.option("--case", "ref", metavar="REF|NAME", help="Show this case's conversation whole.")
@pass_context
def command(context: Context, *, run: str, ref: str | None) -> int:
    """Show RUN as `proctor run` did, or one of its cases whole."""
    wanted = run_id(run)
    document = context.use(lambda platform: document_with_history(platform, wanted))
    screen = context.screen
    if ref is None:
        decision = document.run.gate_decision or decided(document, None)
        view = document.run.model_copy(update={"gate_decision": decision})
        document = document.model_copy(update={"run": view})
        screen.show(render_terminal(document, width=screen.width, color=screen.color))
        return ExitCode.PASSED
    found = [one for one in document.results if ref in {one.case_ref, str(one.case_id)}]
    found = found or [one for one in document.results if _folded(one.case_name) == _folded(ref)]
    if not found:
        screen.complain("\n".join([f"run {run} has no case {ref!r}", *_near(ref, document)]))
        return ExitCode.USAGE
    for result in found:
        screen.show(_conversation(result))
    return ExitCode.PASSED


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().casefold()


def _near(asked: str, document: RunDocument) -> list[str]:
    """List the cases that may have been meant: those with the text in their name, else the closest."""
    labels = {_folded(label(one, trials=False)): label(one, trials=False) for one in document.results}
    near = [key for key in labels if _folded(asked) in key] or difflib.get_close_matches(
        _folded(asked), labels, n=_MOST_NEAR, cutoff=0.3
    )
    return [f"  near it: {one_line(labels[key])}" for key in near[:_MOST_NEAR]]


def _conversation(result: ResultView) -> str:
    lines = [f"{visible(label(result, trials=True))}: {result.status.value}"]
    if result.error is not None:
        lines.append(f"  {result.error.code}: {visible(result.error.message)}")
    for index, entry in enumerate(result.transcript):
        time = f" ({entry.latency_ms} ms)" if entry.latency_ms is not None else ""
        lines.append(f"{index + 1:3} {entry.role.value}{time}: {_indented(entry.content)}")
        for call in entry.tool_calls:
            args = call.args_raw if call.args_raw is not None else repr(call.args)
            lines.append(f"      calls {_indented(f'{call.name}({args})')}")
    for check in result.assertion_results:
        name = f"{check.kind} [{check.ref}]" if check.ref else check.kind
        lines.append(f"  {check.verdict.value:14} {_indented(f'{name}: {check.message}')}")
    return "\n".join(lines)


def _indented(text: str) -> str:
    return visible(text).replace("\n", "\n      ")
