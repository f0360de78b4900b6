"""Agents and prompt versions in this process."""

from __future__ import annotations

from uuid import UUID

from proctor_api.local import LocalApi
from proctor_contracts.schemas.agents import (
    Activation,
    AgentView,
    Rollback,
    VersionCreate,
    VersionDiff,
    VersionView,
)
from proctor_store.paging import Page

from .refusals import translated

__all__ = ["EmbeddedVersions"]

_NOT_FOUND = 404


class EmbeddedVersions:
    """The part of the embedded platform that is about versions."""

    _api: LocalApi

    async def agent_of(self, integration_id: UUID) -> AgentView:
        """Read an integration's agent."""
        with translated():
            return await self._api.services.agents.of(self._api.caller, integration_id)

    async def versions(
        self, agent_id: UUID, *, number: int | None = None, take: int = 50
    ) -> tuple[VersionView, ...]:
        """List an agent's versions, newest first."""
        with translated():
            page = Page(take=take)
            listing = await self._api.services.versions.list(self._api.caller, agent_id, page, number=number)
            return listing.data

    async def create_version(self, agent_id: UUID, version: VersionCreate) -> VersionView:
        """Add a draft."""
        with translated():
            return await self._api.services.versions.create(self._api.caller, agent_id, version)

    async def activate_version(self, agent_id: UUID, version_id: UUID) -> Activation:
        """Make a version the current one."""
        with translated():
            return await self._api.services.versions.activate(self._api.caller, agent_id, version_id)

    async def rollback_version(self, agent_id: UUID, version_id: UUID) -> VersionView:
        """Clone a version and make the clone current."""
        with translated():
            return await self._api.services.versions.rollback(
                self._api.caller, agent_id, version_id, Rollback()
            )

    async def sync_agent(self, agent_id: UUID) -> VersionView:
        """Keep what the integration says now."""
        with translated():
            return await self._api.services.versions.sync(self._api.caller, agent_id)

    async def diff_versions(self, agent_id: UUID, left: UUID, right: UUID) -> VersionDiff:
        """Lay two versions side by side."""
        with translated():
            return await self._api.services.versions.diff(self._api.caller, agent_id, left, right)
