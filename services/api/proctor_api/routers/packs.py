"""/testing/cases/seed-adversarial: ready attacks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from proctor_api.dependencies import JsonBody, Owner, ProctorRoute, Uses
from proctor_api.responses import enveloped
from proctor_contracts.schemas.adversarial import SeedAdversarial, SeedOutcome
from proctor_contracts.schemas.common import Data

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/cases", tags=["cases"])


@router.post("/seed-adversarial", response_model=Data[SeedOutcome], status_code=201)
async def seed_adversarial(
    caller: Owner, services: Uses, body: Annotated[SeedAdversarial, Depends(JsonBody(SeedAdversarial))]
) -> Response:
    """Add a pack of attacks with guards and judge criteria; cases whose ref is there already are skipped."""
    return enveloped(await services.packs.seed(caller, body), status=201)
