"""A resumed run read together with the runs it continues; pure."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from proctor_contracts.gate import GateDecision, GateSettings
from proctor_contracts.schemas.runs import ResultView, RunDocument
from proctor_grading.gate import EVERY_CASE, REGRESSION, gate
from proctor_grading.rows import ResultRow
from proctor_grading.summary import summarise

__all__ = ["decided", "joined", "rows"]

MICRO_PER_CENT = 10_000


def rows(document: RunDocument) -> list[ResultRow]:
    """Read a document's results the way summaries and gates read them."""
    return [_row(result) for result in document.results]


def _row(result: ResultView) -> ResultRow:
    return ResultRow(
        case_id=result.case_id,
        name=result.case_name,
        category=result.category,
        status=result.status,
        first_status=result.first_attempt_status,
        ref=result.case_ref,
        trial=result.trial,
        priority=result.priority,
        weight=result.weight,
        tags=result.tags,
        critical=result.critical,
        score=result.score,
        flaky=result.flaky,
        latencies_ms=tuple(entry.latency_ms for entry in result.transcript if entry.latency_ms is not None),
        usage=result.usage,
        judge_usage=result.judge_usage,
        cost_micro_usd=None if result.cost_cents is None else round(result.cost_cents * MICRO_PER_CENT),
        error_code=result.error.code if result.error else None,
        needs_review=result.needs_review,
    )


def decided(document: RunDocument, settings: GateSettings | None) -> GateDecision:
    """Decide the gate on a document: by `settings`, else by the run's own, else asking for every case.

    Whether a category got worse than in the runs before was decided when the run ended.
    """
    wanted = settings or document.run.gate or EVERY_CASE
    then = document.run.gate_decision
    return gate(
        rows(document),
        wanted,
        document.run.status,
        summary=document.run.summary,
        regressions=[one.message for one in then.reasons if one.code == REGRESSION] if then else (),
    )


def joined(documents: Sequence[RunDocument]) -> RunDocument:
    """Join a run with those it continues, oldest first: of each case and trial the newest result counts.

    The document is the newest run's, with a summary and gate decision over all of it; its cost is what all
    the runs cost together.
    """
    newest = documents[-1]
    if len(documents) == 1:
        return newest
    latest: dict[tuple[UUID, int], ResultView] = {}
    for document in documents:
        for result in document.results:
            latest[result.case_id, result.trial] = result
    results = tuple(latest.values())
    summary = summarise([_row(result) for result in results])
    costs = [document.run.summary.cost_cents if document.run.summary else None for document in documents]
    times = [document.run.summary.duration_ms if document.run.summary else None for document in documents]
    summary = summary.model_copy(
        update={
            "cost_cents": None if None in costs else sum(cost for cost in costs if cost is not None),
            "duration_ms": sum(time for time in times if time is not None),
        }
    )
    settings = next((document.run.gate for document in reversed(documents) if document.run.gate), None)
    run = newest.run.model_copy(update={"summary": summary, "gate": settings})
    document = newest.model_copy(update={"run": run, "results": results})
    decision = decided(document, settings)
    return document.model_copy(update={"run": run.model_copy(update={"gate_decision": decision})})
