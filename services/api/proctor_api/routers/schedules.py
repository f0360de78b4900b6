"""/testing/schedules: runs on a clock, and what became of their ticks."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from proctor_api.dependencies import JsonBody, Owner, Paging, ProctorRoute, Uses
from proctor_api.responses import enveloped, nothing, page_answer
from proctor_contracts.schemas.common import Data, Listing
from proctor_contracts.schemas.schedules import (
    ScheduleCreate,
    SchedulePatch,
    SchedulePreview,
    ScheduleTimes,
    ScheduleView,
    TickView,
)

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/schedules", tags=["schedules"])


@router.get("", response_model=Listing[ScheduleView])
async def list_schedules(
    *,
    request: Request,
    caller: Owner,
    services: Uses,
    page: Paging,
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
    is_active: Annotated[bool | None, Query(alias="isActive")] = None,
) -> Response:
    """List schedules, newest first."""
    listing = await services.schedules.list(caller, page, integration_id=integration_id, is_active=is_active)
    return page_answer(request, listing, listing.meta)


@router.post("", response_model=Data[ScheduleView], status_code=201)
async def create_schedule(
    caller: Owner, services: Uses, body: Annotated[ScheduleCreate, Depends(JsonBody(ScheduleCreate))]
) -> Response:
    """Play an integration's cases on a clock; without `mode`, all active ones."""
    return enveloped(await services.schedules.create(caller, body), status=201)


@router.post("/preview", response_model=Data[ScheduleTimes])
async def preview_schedule(
    _caller: Owner, services: Uses, body: Annotated[SchedulePreview, Depends(JsonBody(SchedulePreview))]
) -> Response:
    """Say when an expression would fire, without saving it."""
    return enveloped(services.schedules.preview(body))


@router.get("/{schedule_id}", response_model=Data[ScheduleView])
async def get_schedule(schedule_id: UUID, caller: Owner, services: Uses) -> Response:
    """Read one schedule with its next fire times."""
    return enveloped(await services.schedules.get(caller, schedule_id))


@router.patch("/{schedule_id}", response_model=Data[ScheduleView])
async def patch_schedule(
    schedule_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[SchedulePatch, Depends(JsonBody(SchedulePatch))],
) -> Response:
    """Change the named fields; a changed clock counts from now."""
    return enveloped(await services.schedules.patch(caller, schedule_id, body))


@router.delete("/{schedule_id}", status_code=204)
async def delete_schedule(schedule_id: UUID, caller: Owner, services: Uses) -> Response:
    """Delete a schedule; the runs that it started stay."""
    await services.schedules.delete(caller, schedule_id)
    return nothing()


@router.post("/{schedule_id}/toggle", response_model=Data[ScheduleView])
async def toggle_schedule(schedule_id: UUID, caller: Owner, services: Uses) -> Response:
    """Switch a schedule off, or on; switched on, it counts from now and catches nothing up."""
    return enveloped(await services.schedules.toggle(caller, schedule_id))


@router.get("/{schedule_id}/ticks", response_model=Listing[TickView])
async def list_ticks(
    schedule_id: UUID, request: Request, caller: Owner, services: Uses, page: Paging
) -> Response:
    """Say of each planned time, newest first, whether it ran, and why not."""
    listing = await services.schedules.ticks(caller, schedule_id, page)
    return page_answer(request, listing, listing.meta)
