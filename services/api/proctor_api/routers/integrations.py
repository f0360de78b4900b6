"""/integrations and their handlers."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from proctor_api.dependencies import JsonBody, Owner, Paging, ProctorRoute, Uses
from proctor_api.responses import answer, enveloped, nothing, page_answer
from proctor_contracts.schemas.common import Data, Listing
from proctor_contracts.schemas.integrations import (
    HandlerCreate,
    HandlerPatch,
    HandlerView,
    IntegrationCreate,
    IntegrationPatch,
    IntegrationView,
)

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute)


@router.get("/integrations", response_model=Listing[IntegrationView], tags=["integrations"])
async def list_integrations(
    request: Request,
    caller: Owner,
    services: Uses,
    page: Paging,
    name: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """List the account's integrations, newest first."""
    listing = await services.integrations.list(caller, page, name=name)
    return page_answer(request, listing, listing.meta)


@router.post("/integrations", response_model=Data[IntegrationView], status_code=201, tags=["integrations"])
async def create_integration(
    caller: Owner, services: Uses, body: Annotated[IntegrationCreate, Depends(JsonBody(IntegrationCreate))]
) -> Response:
    """Add a bot under test."""
    return enveloped(await services.integrations.create(caller, body), status=201)


@router.get("/integrations/{integration_id}", response_model=Data[IntegrationView], tags=["integrations"])
async def get_integration(integration_id: UUID, caller: Owner, services: Uses) -> Response:
    """Read one integration."""
    return enveloped(await services.integrations.get(caller, integration_id))


@router.patch("/integrations/{integration_id}", response_model=Data[IntegrationView], tags=["integrations"])
async def patch_integration(
    integration_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[IntegrationPatch, Depends(JsonBody(IntegrationPatch))],
) -> Response:
    """Change the named fields; an explicit null clears a nullable one."""
    return enveloped(await services.integrations.patch(caller, integration_id, body))


@router.delete("/integrations/{integration_id}", status_code=204, tags=["integrations"])
async def delete_integration(integration_id: UUID, caller: Owner, services: Uses) -> Response:
    """Delete an integration with its handlers, cases and runs."""
    await services.integrations.delete(caller, integration_id)
    return nothing()


@router.get("/integrations/{integration_id}/handlers", response_model=Listing[HandlerView], tags=["handlers"])
async def list_handlers(integration_id: UUID, caller: Owner, services: Uses) -> Response:
    """List an integration's handlers, newest first; all of them are on one page."""
    return answer(await services.handlers.list(caller, integration_id))


@router.post(
    "/integrations/{integration_id}/handlers",
    response_model=Data[HandlerView],
    status_code=201,
    tags=["handlers"],
)
async def create_handler(
    integration_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[HandlerCreate, Depends(JsonBody(HandlerCreate))],
) -> Response:
    """Add a tool to a bot."""
    return enveloped(await services.handlers.create(caller, integration_id, body), status=201)


@router.patch(
    "/integrations/{integration_id}/handlers/{handler_id}",
    response_model=Data[HandlerView],
    tags=["handlers"],
)
async def patch_handler(
    integration_id: UUID,
    handler_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[HandlerPatch, Depends(JsonBody(HandlerPatch))],
) -> Response:
    """Change the named fields; an explicit null clears a nullable one."""
    return enveloped(await services.handlers.patch(caller, integration_id, handler_id, body))


@router.delete("/integrations/{integration_id}/handlers/{handler_id}", status_code=204, tags=["handlers"])
async def delete_handler(integration_id: UUID, handler_id: UUID, caller: Owner, services: Uses) -> Response:
    """Delete a handler."""
    await services.handlers.delete(caller, integration_id, handler_id)
    return nothing()
