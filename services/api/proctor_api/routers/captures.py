"""/testing/captures: conversations from production, and what became of them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from proctor_api.dependencies import JsonBody, Owner, Paging, ProctorRoute, Reader, Uses
from proctor_api.responses import enveloped, nothing, page_answer
from proctor_api.usecases.capture_rows import receipt
from proctor_contracts.enums import CaptureSource, CaptureStatus, KeyKind
from proctor_contracts.schemas.captures import (
    CaptureConvert,
    CaptureCreate,
    CaptureStatusPatch,
    CaptureView,
    ReplayOutcome,
)
from proctor_contracts.schemas.common import Data, Listing

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/captures", tags=["captures"])

_push = JsonBody(CaptureCreate, spoken=("transcript",))


@router.get("", response_model=Listing[CaptureView])
async def list_captures(
    *,
    request: Request,
    caller: Owner,
    services: Uses,
    page: Paging,
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
    status: Annotated[CaptureStatus | None, Query()] = None,
    source: Annotated[CaptureSource | None, Query()] = None,
    external_id: Annotated[str | None, Query(alias="externalId", description="Exactly")] = None,
    tag: Annotated[str | None, Query(description="Exactly")] = None,
) -> Response:
    """List captures, newest first. A page ends early where its transcripts grow beyond 8 MiB."""
    listing = await services.captures.list(
        caller,
        page,
        integration_id=integration_id,
        status=status,
        source=source,
        external_id=external_id,
        tag=tag,
    )
    return page_answer(request, listing, listing.meta)


@router.post(
    "", response_model=Data[CaptureView], status_code=201, responses={200: {"model": Data[CaptureView]}}
)
async def push_capture(
    caller: Reader,
    services: Uses,
    body: Annotated[CaptureCreate, Depends(_push)],
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=128)] = None,
) -> Response:
    """Keep a conversation. A known `externalId` or `Idempotency-Key` answers 200 with the row that is there.

    A public key may do this too; it is told the id and the status, not what was stored.
    """
    view, created = await services.captures.push(caller, body, idempotency_key=idempotency_key)
    shown = view if caller.kind is KeyKind.PRIVATE else receipt(view)
    return enveloped(shown, status=201 if created else 200)


@router.get("/{capture_id}", response_model=Data[CaptureView])
async def get_capture(capture_id: UUID, caller: Owner, services: Uses) -> Response:
    """Read one capture."""
    return enveloped(await services.captures.get(caller, capture_id))


@router.patch("/{capture_id}/status", response_model=Data[CaptureView])
async def set_status(
    capture_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[CaptureStatusPatch, Depends(JsonBody(CaptureStatusPatch))],
) -> Response:
    """Sort a capture: reviewed, ignored, new again, or converted into the case `caseId` written by hand."""
    return enveloped(await services.captures.set_status(caller, capture_id, body))


@router.post(
    "/{capture_id}/convert",
    response_model=Data[ReplayOutcome],
    status_code=201,
    responses={200: {"model": Data[ReplayOutcome]}},
)
async def convert_capture(
    capture_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[CaptureConvert, Depends(JsonBody(CaptureConvert, optional=True))],
) -> Response:
    """Make a case of a capture, as replay does.

    201 with the new case. 200 with a proposal (`aiPropose`), or with the case that it became before: one
    capture becomes one case, however often this is asked.
    """
    outcome, created = await services.replay.convert(caller, capture_id, body)
    return enveloped(outcome, status=201 if created else 200)


@router.delete("/{capture_id}", status_code=204)
async def delete_capture(capture_id: UUID, caller: Owner, services: Uses) -> Response:
    """Delete a capture; the case that it became stays."""
    await services.captures.delete(caller, capture_id)
    return nothing()
