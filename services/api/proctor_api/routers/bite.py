"""/testing/cases/bite: which wrong conversations the checks of cases let through."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from proctor_api.dependencies import JsonBody, Owner, ProctorRoute, Uses
from proctor_api.responses import enveloped
from proctor_contracts.schemas.bite import BiteReport, BiteRequest, CaseBite
from proctor_contracts.schemas.common import Data

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/cases", tags=["cases"])


@router.post("/bite", response_model=Data[BiteReport])
async def bite_cases(
    caller: Owner, services: Uses, body: Annotated[BiteRequest, Depends(JsonBody(BiteRequest))]
) -> Response:
    """Score an integration's active cases, or those in `caseIds`: the weakest first, with a summary."""
    return enveloped(await services.biting.of_integration(caller, body))


@router.post("/{case_id}/bite", response_model=Data[CaseBite])
async def bite_case(case_id: UUID, caller: Owner, services: Uses) -> Response:
    """Make wrong conversations from the case's reference, and say which its checks by code let through."""
    return enveloped(await services.biting.of_case(caller, case_id))
