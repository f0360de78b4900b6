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
from proctor_contracts.schemas.compare import CompareCreate, CompareDetail, CompareView
from proctor_store.paging import Page

from .refusals import translated

__all__ = ["EmbeddedVersions"]

_ALL_CASES = 10_000


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

    async def start_compare(self, agent_id: UUID, compare: CompareCreate) -> CompareView:
        """Start a comparison."""
        with translated():
            view, _ = await self._api.services.compares.start(self._api.caller, agent_id, compare)
            return view

    async def compared(self, compare_id: UUID) -> CompareDetail:
        """Read a comparison whole."""
        with translated():
            return await self._api.services.compares.detail(
                self._api.caller, compare_id, take=_ALL_CASES, skip=0
            )

    async def cancel_compare(self, compare_id: UUID) -> CompareView:
        """Cancel every cell that goes on."""
        with translated():
            return await self._api.services.compares.cancel(self._api.caller, compare_id)
