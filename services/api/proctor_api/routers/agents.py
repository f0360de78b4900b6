"""/testing/agents: agents and the versions of their prompts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response

from proctor_api.dependencies import JsonBody, Owner, Paging, ProctorRoute, Uses
from proctor_api.responses import answer, enveloped, page_answer
from proctor_contracts.schemas.agents import (
    Activation,
    AgentPatch,
    AgentView,
    Generate,
    Generated,
    Rollback,
    VersionCreate,
    VersionDiff,
    VersionView,
)
from proctor_contracts.schemas.common import Data, Listing

__all__ = ["router"]

router = APIRouter(route_class=ProctorRoute, prefix="/testing/agents", tags=["agents"])


@router.get("", response_model=Listing[AgentView])
async def list_agents(
    request: Request,
    caller: Owner,
    services: Uses,
    page: Paging,
    integration_id: Annotated[UUID | None, Query(alias="integrationId")] = None,
) -> Response:
    """List agents, newest first; with `integrationId`, that integration's one, made when it is missing."""
    listing = await services.agents.list(caller, page, integration_id=integration_id)
    return page_answer(request, listing, listing.meta)


@router.get("/{agent_id}", response_model=Data[AgentView])
async def get_agent(agent_id: UUID, caller: Owner, services: Uses) -> Response:
    """Read an agent with its current version."""
    return enveloped(await services.agents.get(caller, agent_id))


@router.patch("/{agent_id}", response_model=Data[AgentView])
async def patch_agent(
    agent_id: UUID, caller: Owner, services: Uses, body: Annotated[AgentPatch, Depends(JsonBody(AgentPatch))]
) -> Response:
    """Change the named fields; an explicit null clears a default."""
    return enveloped(await services.agents.patch(caller, agent_id, body))


@router.get("/{agent_id}/versions", response_model=Listing[VersionView])
async def list_versions(
    *,
    request: Request,
    agent_id: UUID,
    caller: Owner,
    services: Uses,
    page: Paging,
    version_number: Annotated[int | None, Query(alias="versionNumber", ge=1, le=2**31 - 1)] = None,
) -> Response:
    """List an agent's versions, newest first."""
    listing = await services.versions.list(caller, agent_id, page, number=version_number)
    return page_answer(request, listing, listing.meta)


@router.post("/{agent_id}/versions", response_model=Data[VersionView], status_code=201)
async def create_version(
    agent_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[VersionCreate, Depends(JsonBody(VersionCreate))],
) -> Response:
    """Add a draft; nothing uses it until it is activated or named by a run."""
    return enveloped(await services.versions.create(caller, agent_id, body), status=201)


@router.get("/{agent_id}/versions/{version_id}", response_model=Data[VersionView])
async def get_version(agent_id: UUID, version_id: UUID, caller: Owner, services: Uses) -> Response:
    """Read a version."""
    return enveloped(await services.versions.get(caller, agent_id, version_id))


@router.post("/{agent_id}/versions/{version_id}/activate", response_model=Data[Activation])
async def activate_version(agent_id: UUID, version_id: UUID, caller: Owner, services: Uses) -> Response:
    """Make a version the current one and write its prompt to the integration; live runs keep theirs."""
    return enveloped(await services.versions.activate(caller, agent_id, version_id))


@router.post("/{agent_id}/versions/{version_id}/rollback", response_model=Data[VersionView], status_code=201)
async def rollback_version(
    agent_id: UUID,
    version_id: UUID,
    caller: Owner,
    services: Uses,
    body: Annotated[Rollback, Depends(JsonBody(Rollback, optional=True))],
) -> Response:
    """Clone a version into a new one and make that current."""
    return enveloped(await services.versions.rollback(caller, agent_id, version_id, body), status=201)


@router.get("/{agent_id}/versions/{version_id}/diff/{other_id}", response_model=Data[VersionDiff])
async def diff_versions(
    agent_id: UUID, version_id: UUID, other_id: UUID, caller: Owner, services: Uses
) -> Response:
    """Lay two versions side by side, word by word."""
    return enveloped(await services.versions.diff(caller, agent_id, version_id, other_id))


@router.post("/{agent_id}/sync", response_model=Data[VersionView], status_code=201)
async def sync_agent(agent_id: UUID, caller: Owner, services: Uses) -> Response:
    """Keep the integration's prompt as an immutable snapshot; it does not become current."""
    return enveloped(await services.versions.sync(caller, agent_id), status=201)


@router.post("/versions/{version_id}/exported", response_model=Data[VersionView])
async def mark_exported(version_id: UUID, caller: Owner, services: Uses) -> Response:
    """Note that a version was pasted into the platform."""
    return enveloped(await services.versions.exported(caller, version_id))


@router.post(
    "/{agent_id}/generate", response_model=Generated, status_code=201, responses={200: {"model": Generated}}
)
async def generate_variants(
    agent_id: UUID, caller: Owner, services: Uses, body: Annotated[Generate, Depends(JsonBody(Generate))]
) -> Response:
    """Have a model draft variants of a prompt; when it gives none, 200 with no data and a warning."""
    made = await services.variants.generate(caller, agent_id, body)
    return answer(made, status=201 if made.data else 200)
