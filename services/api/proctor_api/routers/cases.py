"""/testing/cases: what a bot should do."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from proctor_api.dependencies import JsonBody, LongPaging, Owner, ProctorRoute, Uses
from proctor_api.responses import enveloped, nothing, page_answer
from proctor_contracts.enums import Priority
from proctor_contracts.schemas.cases import (
    BulkCases,
    BulkOutcome,
    CaseCreate,
    CasePatch,
    CaseValidation,
    CaseView,
)
from proctor_contracts.schemas.common import Data, Listing
from proctor_contracts.stability import StabilityReport

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/cases", tags=["cases"])


@router.get("", response_model=Listing[CaseView])
async def list_cases(
    *,
    request: Request,
    caller: Owner,
    services: Uses,
    page: LongPaging,
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
    category: Annotated[str | None, Query(description="Exactly, after NFC and trim")] = None,
    priority: Annotated[Priority | None, Query()] = None,
    is_active: Annotated[bool | None, Query(alias="isActive")] = None,
    tag: Annotated[str | None, Query(description="Exactly")] = None,
    q: Annotated[str | None, Query(description="In ref, name, category, tags and what the user says")] = None,
) -> Response:
    """List cases, newest first. Every given filter must hold; `q` ignores letter case in every script."""
    listing = await services.cases.list(
        caller,
        page,
        integration_id=integration_id,
        category=category,
        priority=priority,
        is_active=is_active,
        tag=tag,
        q=q,
    )
    return page_answer(request, listing, listing.meta)


@router.post("", response_model=Data[CaseView], status_code=201)
async def create_case(
    caller: Owner, services: Uses, body: Annotated[CaseCreate, Depends(JsonBody(CaseCreate))]
) -> Response:
    """Add a case."""
    return enveloped(await services.cases.create(caller, body), status=201)


@router.post("/validate", response_model=Data[CaseValidation])
async def validate_case(
    caller: Owner, services: Uses, body: Annotated[dict[str, Any], Depends(JsonBody(CaseCreate, raw=True))]
) -> Response:
    """Say what creating this case would say, without writing anything; `integrationId` may be left out."""
    return enveloped(await services.cases.validate(caller, body))


@router.post("/bulk", response_model=Data[BulkOutcome])
async def upsert_cases(
    caller: Owner, services: Uses, body: Annotated[BulkCases, Depends(JsonBody(BulkCases))]
) -> Response:
    """Create or update many cases by `ref` (else by exact name): all of them or none."""
    return enveloped(await services.bulk.upsert(caller, body))


@router.get("/flaky", response_model=Data[StabilityReport])
async def unstable_cases(
    *,
    caller: Owner,
    services: Uses,
    integration_id: Annotated[UUID, Query(alias="integrationId")],
    like: Annotated[
        UUID | None, Query(description="A run; by default the newest that is over", alias="likeRunId")
    ] = None,
    case_id: Annotated[UUID | None, Query(alias="caseId")] = None,
    runs: Annotated[int, Query(ge=1, le=200)] = 50,
    take: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Read how steady cases are, the most unstable first.

    Counted are first attempts in the last `runs` runs with one and the same provider, model and prompt, of
    cases as they are now.
    """
    report = await services.histories.report(
        caller, integration_id, like=like, case_id=case_id, most_runs=runs, take=take
    )
    return enveloped(report)


@router.get("/{case_id}", response_model=Data[CaseView])
async def get_case(case_id: UUID, caller: Owner, services: Uses) -> Response:
    """Read one case."""
    return enveloped(await services.cases.get(caller, case_id))


@router.patch("/{case_id}", response_model=Data[CaseView])
async def patch_case(
    case_id: UUID, caller: Owner, services: Uses, body: Annotated[CasePatch, Depends(JsonBody(CasePatch))]
) -> Response:
    """Change the named fields; an explicit null clears a nullable one."""
    return enveloped(await services.cases.patch(caller, case_id, body))


@router.delete("/{case_id}", status_code=204)
async def delete_case(case_id: UUID, caller: Owner, services: Uses) -> Response:
    """Delete a case; runs keep it as they took it."""
    await services.cases.delete(caller, case_id)
    return nothing()
