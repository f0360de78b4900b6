"""What the command needs of the platform about agents and the versions of their prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:  # the schemas cost more to import than most commands take
    from proctor_contracts.schemas.agents import (
        Activation,
        AgentView,
        VersionCreate,
        VersionDiff,
        VersionView,
    )
    from proctor_contracts.schemas.compare import CompareCreate, CompareDetail, CompareView

__all__ = ["PromptVersions"]


class PromptVersions(Protocol):
    """Agents and versions of one account; every method may raise PlatformRefused or PlatformUnavailable."""

    async def agent_of(self, integration_id: UUID) -> AgentView:
        """Read an integration's agent, which is made with version 1 when it is missing."""
        ...

    async def versions(
        self, agent_id: UUID, *, number: int | None = None, take: int = 50
    ) -> tuple[VersionView, ...]:
        """List an agent's versions, newest first; `number` keeps the one that has it."""
        ...

    async def create_version(self, agent_id: UUID, version: VersionCreate) -> VersionView:
        """Add a draft."""
        ...

    async def activate_version(self, agent_id: UUID, version_id: UUID) -> Activation:
        """Make a version the current one."""
        ...

    async def rollback_version(self, agent_id: UUID, version_id: UUID) -> VersionView:
        """Clone a version into a new one and make that current."""
        ...

    async def sync_agent(self, agent_id: UUID) -> VersionView:
        """Keep what the integration says now as an immutable snapshot."""
        ...

    async def diff_versions(self, agent_id: UUID, left: UUID, right: UUID) -> VersionDiff:
        """Lay two versions side by side."""
        ...

    async def start_compare(self, agent_id: UUID, compare: CompareCreate) -> CompareView:
        """Play the same cases in every cell of a matrix."""
        ...

    async def compared(self, compare_id: UUID) -> CompareDetail:
        """Read a comparison with its cases side by side and the tests of its cells."""
        ...

    async def cancel_compare(self, compare_id: UUID) -> CompareView:
        """Cancel every cell that goes on."""
        ...
