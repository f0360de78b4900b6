"""/testing/compare: one set of cases against a matrix of versions and models."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from proctor_api.dependencies import JsonBody, Owner, Paging, ProctorRoute, Uses
from proctor_api.responses import enveloped, page_answer
from proctor_contracts.schemas.common import Data, Listing
from proctor_contracts.schemas.compare import CompareCreate, CompareDetail, CompareView
from proctor_store.paging import MAX_SKIP

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/compare", tags=["compare"])


@router.post(
    "/agents/{agent_id}",
    response_model=Data[CompareView],
    status_code=201,
    responses={200: {"model": Data[CompareView]}},
)
async def start_compare(
    agent_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[CompareCreate, Depends(JsonBody(CompareCreate))],
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=128)] = None,
) -> Response:
    """Start a run a cell. A repeated `Idempotency-Key` answers 200 with the comparison it started before."""
    view, created = await services.compares.start(caller, agent_id, body, idempotency_key=idempotency_key)
    return enveloped(view, status=201 if created else 200)


@router.get("", response_model=Listing[CompareView])
async def list_compares(
    *,
    request: Request,
    caller: Owner,
    services: Uses,
    page: Paging,
    agent_id: Annotated[UUID | None, Query(alias="agentId")] = None,
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
) -> Response:
    """List comparisons, newest first."""
    listing = await services.compares.list(caller, page, agent_id=agent_id, integration_id=integration_id)
    return page_answer(request, listing, listing.meta)


@router.get("/{compare_id}", response_model=Data[CompareDetail])
async def get_compare(
    compare_id: UUID,
    caller: Owner,
    services: Uses,
    take: Annotated[int, Query(ge=1, le=10_000, description="Cases in `rows`")] = 200,
    skip: Annotated[int, Query(ge=0, le=MAX_SKIP)] = 0,
) -> Response:
    """Read a comparison with its cases side by side and, once it is over, the test of each pair of cells."""
    return enveloped(await services.compares.detail(caller, compare_id, take=take, skip=skip))


@router.post("/{compare_id}/cancel", response_model=Data[CompareView])
async def cancel_compare(compare_id: UUID, caller: Owner, services: Uses) -> Response:
    """Cancel all cells that go on; finished cases keep their results."""
    return enveloped(await services.compares.cancel(caller, compare_id))
