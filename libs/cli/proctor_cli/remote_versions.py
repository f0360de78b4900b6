"""Agents and prompt versions behind a URL."""

from __future__ import annotations

from uuid import UUID, uuid4

from proctor_contracts.schemas.agents import Activation, AgentView, VersionCreate, VersionDiff, VersionView
from proctor_contracts.schemas.compare import CompareCreate, CompareDetail, CompareView

from .client import PlatformUnavailable
from .transport import Transport, parsed

__all__ = ["RemoteVersions"]

_ALL_CASES = 10_000


class RemoteVersions:
    """The part of the remote platform that is about versions."""

    _http: Transport

    async def agent_of(self, integration_id: UUID) -> AgentView:
        """Read an integration's agent."""
        answer = await self._http.send("GET", "/testing/agents", query={"integrationId": integration_id})
        if not answer["data"]:
            raise PlatformUnavailable("the server gives no agent for an integration; is it of this version?")
        return parsed(AgentView, answer["data"][0])

    async def versions(
        self, agent_id: UUID, *, number: int | None = None, take: int = 50
    ) -> tuple[VersionView, ...]:
        """List an agent's versions, newest first."""
        query = {"versionNumber": number, "take": take}
        answer = await self._http.send("GET", f"/testing/agents/{agent_id}/versions", query=query)
        return tuple(parsed(VersionView, item) for item in answer["data"])

    async def create_version(self, agent_id: UUID, version: VersionCreate) -> VersionView:
        """Add a draft."""
        body = version.model_dump(mode="json", exclude_unset=True)
        return await self._http.one(VersionView, "POST", f"/testing/agents/{agent_id}/versions", body)

    async def activate_version(self, agent_id: UUID, version_id: UUID) -> Activation:
        """Make a version the current one."""
        path = f"/testing/agents/{agent_id}/versions/{version_id}/activate"
        return await self._http.one(Activation, "POST", path)

    async def rollback_version(self, agent_id: UUID, version_id: UUID) -> VersionView:
        """Clone a version and make the clone current."""
        path = f"/testing/agents/{agent_id}/versions/{version_id}/rollback"
        return await self._http.one(VersionView, "POST", path, {})

    async def sync_agent(self, agent_id: UUID) -> VersionView:
        """Keep what the integration says now."""
        return await self._http.one(VersionView, "POST", f"/testing/agents/{agent_id}/sync")

    async def diff_versions(self, agent_id: UUID, left: UUID, right: UUID) -> VersionDiff:
        """Lay two versions side by side."""
        path = f"/testing/agents/{agent_id}/versions/{left}/diff/{right}"
        return await self._http.one(VersionDiff, "GET", path)

    async def start_compare(self, agent_id: UUID, compare: CompareCreate) -> CompareView:
        """Start a comparison; a request that is repeated after a lost answer does not start a second one."""
        body = compare.model_dump(mode="json", exclude_unset=True)
        path = f"/testing/compare/agents/{agent_id}"
        return await self._http.one(CompareView, "POST", path, body, key=str(uuid4()))

    async def compared(self, compare_id: UUID) -> CompareDetail:
        """Read a comparison whole."""
        return await self._http.one(CompareDetail, "GET", f"/testing/compare/{compare_id}?take={_ALL_CASES}")

    async def cancel_compare(self, compare_id: UUID) -> CompareView:
        """Cancel every cell that goes on."""
        return await self._http.one(CompareView, "POST", f"/testing/compare/{compare_id}/cancel")
