"""/keys: the account's API keys."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from proctor_api.dependencies import JsonBody, Owner, Paging, ProctorRoute, Uses
from proctor_api.responses import enveloped, nothing, page_answer
from proctor_contracts.schemas.common import Data, Listing
from proctor_contracts.schemas.integrations import KeyCreate, KeyCreated, KeyView

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, tags=["keys"])


@router.get("/keys", response_model=Listing[KeyView])
async def list_keys(request: Request, caller: Owner, services: Uses, page: Paging) -> Response:
    """List the account's living keys without their secrets, newest first."""
    listing = await services.keys.list(caller, page)
    return page_answer(request, listing, listing.meta)


@router.post("/keys", response_model=Data[KeyCreated], status_code=201)
async def create_key(
    caller: Owner, services: Uses, body: Annotated[KeyCreate, Depends(JsonBody(KeyCreate))]
) -> Response:
    """Make a key; this answer is the only place that shows it."""
    made = await services.keys.create(caller, body)
    return enveloped(made, status=201, headers={"Cache-Control": "no-store"})


@router.delete("/keys/{key_id}", status_code=204)
async def revoke_key(key_id: UUID, caller: Owner, services: Uses) -> Response:
    """Revoke a key: at once in the replica that answers, within five seconds in others."""
    await services.keys.revoke(caller, key_id)
    return nothing()
