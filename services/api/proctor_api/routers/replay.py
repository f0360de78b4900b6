"""/testing/cases/replay: a conversation that was had becomes a case."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from proctor_api.dependencies import JsonBody, Owner, ProctorRoute, Uses
from proctor_api.responses import enveloped
from proctor_contracts.schemas.captures import ReplayCreate, ReplayOutcome
from proctor_contracts.schemas.common import Data

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/cases", tags=["cases"])

_body = JsonBody(ReplayCreate, spoken=("transcript",))


@router.post(
    "/replay",
    response_model=Data[ReplayOutcome],
    status_code=201,
    responses={200: {"model": Data[ReplayOutcome]}},
)
async def replay(caller: Owner, services: Uses, body: Annotated[ReplayCreate, Depends(_body)]) -> Response:
    """Make a case of a transcript: 201 with the saved case, or with `aiPropose` 200 with a proposal only."""
    outcome = await services.replay.replay(caller, body)
    return enveloped(outcome, status=200 if outcome.saved is None else 201)
