"""/testing/runs/{id}/events: a run while it happens."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from proctor_api.dependencies import ProctorRoute, Reader, Uses
from proctor_api.sse import HEADERS, last_seen, stream

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/runs", tags=["runs"])


@router.get(
    "/{run_id}/events",
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events", "content": {"text/event-stream": {}}}},
)
async def run_events(
    *,
    request: Request,
    run_id: UUID,
    caller: Reader,
    services: Uses,
    last_event_id: Annotated[str | None, Header()] = None,
    after: Annotated[str | None, Query(description="As Last-Event-ID, for clients without headers")] = None,
) -> Response:
    """Follow a run up to `run.completed`.

    Events with an `id` are never lost: reconnect with `Last-Event-ID`. An id that the run never gave is
    answered with `run.resync` (where the run stands now), after which the stream goes on; on a run that is
    over, with its terminal event. Comments break the silence every 15 seconds.
    """
    await services.runs.get(caller, run_id)
    events = services.feed.events(caller, run_id, after=last_seen(last_event_id, after))
    body = stream(events, heartbeat_seconds=request.app.state.heartbeat_seconds)
    return StreamingResponse(body, headers=HEADERS, media_type="text/event-stream")
