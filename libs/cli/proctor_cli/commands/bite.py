"""`proctor bite`: which wrong conversations a suite's checks let through."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never

import click

from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode, Stop
from proctor_cli.reporting import check_writable, write_report

if TYPE_CHECKING:
    from proctor_contracts.schemas.bite import BiteReport

__all__ = ["command"]

_Format = Literal["text", "markdown", "json"]
_FORMATS: tuple[_Format, ...] = ("text", "markdown", "json")


@click.command("bite", short_help="See which wrong conversations a suite's checks let through.")
@click.argument("suite", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--case", "refs", multiple=True, metavar="REF", help="Only this case. Repeatable.")
@click.option(
    "--min-score", type=click.IntRange(0, 100), help="End with 1 below this score, with 2 without a score."
)
@click.option(
    "--without", multiple=True, metavar="KIND", help="Make no wrong conversations of this kind. Repeatable."
)
@click.option(
    "--all", "every", is_flag=True, help="Show what fails as it should, too, and what does not apply."
)
@click.option("--format", "format_", type=click.Choice(_FORMATS), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Else to stdout.")
@pass_context
def command(
    context: Context,
    *,
    suite: Path,
    refs: tuple[str, ...],
    min_score: int | None,
    without: tuple[str, ...],
    every: bool,
    format_: _Format,
    output: Path | None,
) -> int:
    """Make wrong conversations from the references of SUITE's cases, and grade them by code.

    Nothing is called: no bot, no model, no server. Ends with 0; with 1 when the score is below --min-score;
    with 2 when --min-score was asked for and there is no score; with 3 for a suite that is not in order.
    """
    if output is not None:
        check_writable(output)
    report = _bitten(suite, context, refs, without)
    text = _rendered(report, format_, context, every=every, file=output is not None)
    if output is None:
        context.screen.show(text)
    else:
        write_report(output, text)
    score = report.summary.score
    if min_score is None:
        return ExitCode.PASSED
    if score is None:
        context.screen.complain(
            "there is no score to hold against --min-score: no case has a reference that decides"
        )
        return ExitCode.UNDECIDED
    if score < min_score:
        context.screen.complain(f"the bite score {score} is below {min_score}")
        return ExitCode.FAILED
    return ExitCode.PASSED


def _bitten(path: Path, context: Context, refs: tuple[str, ...], without: tuple[str, ...]) -> BiteReport:
    from proctor_cli.suite.checks import checked  # noqa: PLC0415 - brings the regex engine
    from proctor_cli.suite.load import load_suite  # noqa: PLC0415 - not needed for --help
    from proctor_cli.suite.problems import SuiteInvalid, suggestion  # noqa: PLC0415 - as above
    from proctor_contracts.schemas.bite import MutantKind  # noqa: PLC0415 - as above
    from proctor_grading.bite.score import bite  # noqa: PLC0415 - as above
    from proctor_grading.bite.summary import bite_report  # noqa: PLC0415 - as above
    from proctor_grading.context import GradingContext  # noqa: PLC0415 - as above
    from proctor_grading.detector import installed_detector  # noqa: PLC0415 - as above
    from proctor_grading.regex import QuickJsRegex  # noqa: PLC0415 - as above

    kinds = [kind.value for kind in MutantKind]
    for kind in without:
        if kind not in kinds:
            raise Stop(ExitCode.USAGE, f"there is no kind {kind!r}; {suggestion(kind, kinds)}")
    suite = load_suite(path, context.env)
    if faults := checked(suite).problems:
        raise SuiteInvalid(faults)
    known = {case.ref or case.name for case in suite.cases}
    for ref in refs:
        if ref not in known:
            raise Stop(ExitCode.USAGE, f"the suite has no case {ref!r}; {suggestion(ref, known)}")
    grading = GradingContext(
        regex=QuickJsRegex(),
        prompt=suite.header.integration.agent_prompt,
        languages=installed_detector(),
    )
    chosen = [case for case in suite.cases if (case.ref in refs if refs else case.is_active)]
    threshold = suite.header.run.score_threshold
    left = [MutantKind(kind) for kind in without]
    return bite_report(bite(case, grading, run_threshold=threshold, without=left) for case in chosen)


def _rendered(report: BiteReport, format_: _Format, context: Context, *, every: bool, file: bool) -> str:
    match format_:
        case "json":
            return report.model_dump_json(indent=2) + "\n"
        case "markdown":
            from proctor_reports.bite import render_bite_markdown  # noqa: PLC0415 - only the format asked for

            return render_bite_markdown(report, every=every)
        case "text":
            from proctor_reports.bite import render_bite  # noqa: PLC0415 - as above

            color = context.screen.color and not file
            return render_bite(report, width=context.screen.width, color=color, every=every)
        case _:
            assert_never(format_)
