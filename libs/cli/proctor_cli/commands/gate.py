"""`proctor gate`: decide on a run that exists."""

from __future__ import annotations

from pathlib import Path

import click

from proctor_cli.context import Context, pass_context, run_id
from proctor_cli.history import decided
from proctor_cli.playing import document_with_history
from proctor_cli.suite.doubts import unknown_critical
from proctor_cli.suite.problems import suggestion
from proctor_contracts.gate import GateSettings
from proctor_grading.gate import EVERY_CASE
from proctor_reports.reading import NO_GATE

__all__ = ["command"]


@click.command("gate", short_help="Decide the release gate on a run that exists.")
@click.argument("run", metavar="RUN")
@click.option(
    "--suite", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="By this suite's gate."
)
@click.option("--min-pass-rate", type=click.FloatRange(0, 1))
@click.option("--max-error-rate", type=click.FloatRange(0, 1))
@click.option(
    "--critical", multiple=True, metavar="NAME", help="A tag or category that must not fail. Repeatable."
)
@click.option("--max-p95-latency-ms", type=click.IntRange(1))
@click.option("--max-cost-cents", type=click.FloatRange(min=0, min_open=True))
@pass_context
def command(
    context: Context,
    *,
    run: str,
    suite: Path | None,
    min_pass_rate: float | None,
    max_error_rate: float | None,
    critical: tuple[str, ...],
    max_p95_latency_ms: int | None,
    max_cost_cents: float | None,
) -> int:
    """Decide on RUN by its own gate, a suite's, or the options given; ends with 0, 1 or 2."""
    wanted = run_id(run)
    settings: GateSettings | None = None
    if suite is not None:
        from proctor_cli.suite.load import load_suite  # noqa: PLC0415 - only for --suite

        settings = load_suite(suite, context.env).gate
    document = context.use(lambda platform: document_with_history(platform, wanted))
    given = {
        "min_pass_rate": min_pass_rate,
        "max_error_rate": max_error_rate,
        "critical": critical or None,
        "max_p95_latency_ms": max_p95_latency_ms,
        "max_cost_cents": max_cost_cents,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    if asked:
        base = settings or document.run.gate or EVERY_CASE
        settings = base.model_copy(update=asked)
    known = {one.category for one in document.results} | {tag for one in document.results for tag in one.tags}
    for name in unknown_critical((settings or document.run.gate or EVERY_CASE).critical, known):
        said = f"warning: no case of this run has the tag or category {name!r}"
        context.screen.complain(f"{said}; {suggestion(name, known)}")
    decision = decided(document, settings)
    stated = settings or document.run.gate
    context.screen.show(f"gate {decision.outcome.value}" + ("" if stated else f" ({NO_GATE})"))
    for reason in decision.reasons:
        context.screen.show(f"  - {reason.message}")
    return decision.exit_code
