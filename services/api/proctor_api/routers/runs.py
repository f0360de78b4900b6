"""/testing/runs: start, follow, read, compare, end."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from proctor_api.dependencies import JsonBody, LongPaging, Owner, Paging, ProctorRoute, Reader, Uses
from proctor_api.responses import enveloped, nothing, page_answer
from proctor_api.usecases.exports import ExportFormat
from proctor_contracts.diff import RunDiff
from proctor_contracts.enums import ResultStatus, RunStatus, Trigger
from proctor_contracts.schemas.common import Data, Listing
from proctor_contracts.schemas.runs import Rerun, ResultsPage, RunCreate, RunView

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/runs", tags=["runs"])


@router.get("", response_model=Listing[RunView])
async def list_runs(
    *,
    request: Request,
    caller: Reader,
    services: Uses,
    page: Paging,
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
    status: Annotated[RunStatus | None, Query()] = None,
    trigger: Annotated[Trigger | None, Query()] = None,
    compare_run_id: Annotated[UUID | None, Query(alias="compareRunId")] = None,
    schedule_id: Annotated[UUID | None, Query(alias="scheduleId")] = None,
    tag: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """List runs, newest first; every given filter must hold."""
    listing = await services.runs.list(
        caller,
        page=page,
        integration_id=integration_id,
        status=status,
        trigger=trigger,
        compare_run_id=compare_run_id,
        schedule_id=schedule_id,
        tag=tag,
    )
    return page_answer(request, listing, listing.meta)


@router.post("", response_model=Data[RunView], status_code=201, responses={200: {"model": Data[RunView]}})
async def start_run(
    caller: Owner,
    services: Uses,
    body: Annotated[RunCreate, Depends(JsonBody(RunCreate))],
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=128)] = None,
) -> Response:
    """Start a run. A repeated `Idempotency-Key` answers 200 with the run it started before."""
    run, created = await services.runs.start(caller, body, idempotency_key=idempotency_key)
    return enveloped(run, status=201 if created else 200)


@router.get("/{run_id}", response_model=Data[RunView])
async def get_run(run_id: UUID, caller: Reader, services: Uses) -> Response:
    """Read a run with its live counters."""
    return enveloped(await services.runs.get(caller, run_id))


@router.get("/{run_id}/results", response_model=ResultsPage)
async def list_results(
    *,
    request: Request,
    run_id: UUID,
    caller: Reader,
    services: Uses,
    page: LongPaging,
    status: Annotated[ResultStatus | None, Query()] = None,
    category: Annotated[str | None, Query(description="Exactly, after NFC and trim")] = None,
    flaky: Annotated[bool | None, Query()] = None,
    imperfect: Annotated[
        bool | None, Query(description="Whether the score is below 100, or not known")
    ] = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
    include_attempts: Annotated[bool, Query(alias="includeAttempts")] = False,
) -> Response:
    """Read results with transcripts and the table of assertions, in the run's order."""
    results = await services.results.page(
        caller,
        run_id,
        status=status,
        category=category,
        flaky=flaky,
        imperfect=imperfect,
        q=q,
        include_attempts=include_attempts,
        page=page,
    )
    return page_answer(request, results, results.meta)


@router.get(
    "/{run_id}/export",
    response_class=Response,
    responses={
        200: {
            "description": "The run as a file",
            "content": {
                "application/json": {}, "application/xml": {}, "text/markdown": {}, "text/csv": {},
            },
        }
    },
)  # fmt: skip
async def export_run(
    run_id: UUID,
    caller: Reader,
    services: Uses,
    fmt: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.JSON,
) -> Response:
    """Take the whole run away as one document."""
    export = await services.exports.export(caller, run_id, fmt)
    headers = {"Content-Disposition": f'attachment; filename="{export.filename}"'}
    return Response(export.body, 200, headers, media_type=export.media_type)


@router.get("/{run_id}/diff/{other_id}", response_model=Data[RunDiff])
async def diff_runs(run_id: UUID, other_id: UUID, caller: Owner, services: Uses) -> Response:
    """Compare two runs case by case; the first one is the baseline."""
    return enveloped(await services.results.diff(caller, run_id, other_id))


@router.post("/{run_id}/cancel", response_model=Data[RunView])
async def cancel_run(run_id: UUID, caller: Owner, services: Uses) -> Response:
    """Cancel a run: finished cases keep their results, and a second cancel changes nothing."""
    return enveloped(await services.runs.cancel(caller, run_id))


@router.post("/{run_id}/rerun", response_model=Data[RunView], status_code=201)
async def rerun(
    run_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[Rerun, Depends(JsonBody(Rerun, optional=True))],
) -> Response:
    """Play results of a run again, from its snapshots, as a new run."""
    return enveloped(await services.runs.rerun(caller, run_id, body), status=201)


@router.delete("/{run_id}", status_code=204)
async def delete_run(run_id: UUID, caller: Owner, services: Uses) -> Response:
    """Delete a run that is over, with its results."""
    await services.runs.delete(caller, run_id)
    return nothing()
