"""/testing/alerts: what was told of runs, to whom, and how each try went."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from proctor_api.dependencies import Owner, Paging, ProctorRoute, Uses
from proctor_api.responses import enveloped, page_answer
from proctor_contracts.alerts import AlertKind
from proctor_contracts.schemas.alerts import AlertView
from proctor_contracts.schemas.common import Data, Listing

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/alerts", tags=["alerts"])


@router.get("", response_model=Listing[AlertView])
async def list_alerts(
    *,
    request: Request,
    caller: Owner,
    services: Uses,
    page: Paging,
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
    kind: Annotated[AlertKind | None, Query()] = None,
    run_id: Annotated[UUID | None, Query(alias="runId")] = None,
    schedule_id: Annotated[UUID | None, Query(alias="scheduleId")] = None,
) -> Response:
    """List alerts, newest first, with every try of their deliveries."""
    listing = await services.alerts.list(
        caller, page, integration_id=integration_id, kind=kind, run_id=run_id, schedule_id=schedule_id
    )
    return page_answer(request, listing, listing.meta)


@router.get("/{alert_id}", response_model=Data[AlertView])
async def get_alert(alert_id: UUID, caller: Owner, services: Uses) -> Response:
    """Read one alert."""
    return enveloped(await services.alerts.get(caller, alert_id))


@router.post("/{alert_id}/redeliver", response_model=Data[AlertView], status_code=202)
async def redeliver_alert(alert_id: UUID, caller: Owner, services: Uses) -> Response:
    """Send an alert again; receivers know it by the same `webhook-id`."""
    return enveloped(await services.alerts.redeliver(caller, alert_id), status=202)
