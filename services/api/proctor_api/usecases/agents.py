"""Agents: the one of each integration, made with its first version when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, not_found
from proctor_contracts.enums import Provider
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.agents import AgentPatch, AgentView, VersionRef, VersionSource
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_store.conflicts import Vanished
from proctor_store.paging import Page
from proctor_store.repositories import agents, versions
from proctor_store.repositories.agents import AgentRecord, SeenAgent
from proctor_store.repositories.integrations import IntegrationRecord
from proctor_store.repositories.versions import VersionRecord
from proctor_store.session import Database, Unit

from .integrations import integration_of

__all__ = ["Agents", "agent_of", "agent_view", "provisioned", "seen_agent"]

FIRST_NAME = "main"


class Agents:
    """Reads and changes agents."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def of(self, caller: Caller, integration_id: UUID) -> AgentView:
        """Read an integration's agent; the first reader makes it, with version 1 from the prompt of now.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            integration = await integration_of(unit, caller, integration_id)
            found = await agents.of_integration(unit, caller.account_id, integration.id)
            if found is not None:
                return agent_view(await seen_agent(unit, caller, found.id))
        async with self._database.transaction() as unit:
            # Whoever changes the prompt waits, so that the version is what the integration says.
            integration = await integration_of(unit, caller, integration_id, lock=True)
            agent = await provisioned(unit, integration, now=self._clock())
            return agent_view(await seen_agent(unit, caller, agent.id))

    async def list(
        self, caller: Caller, page: Page, *, integration_id: UUID | None = None
    ) -> Listing[AgentView]:
        """List agents, newest first; of one integration, its agent, which is made when it is missing.

        Raises:
            ApiError: 404 for an unknown integration.
        """
        if integration_id is not None:
            only = await self.of(caller, integration_id)
            return Listing[AgentView](data=(only,), meta=Meta(total=1, take=page.take))
        async with self._database.reading() as unit:
            rows = await agents.listed(unit, caller.account_id, page)
        return Listing[AgentView](
            data=tuple(map(agent_view, rows.items)),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def get(self, caller: Caller, agent_id: UUID) -> AgentView:
        """Read one.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            return agent_view(await seen_agent(unit, caller, agent_id))

    async def patch(self, caller: Caller, agent_id: UUID, body: AgentPatch) -> AgentView:
        """Change the named fields; an explicit null clears a default.

        Raises:
            ApiError: 400 or 404.
        """
        named = {name: getattr(body, name) for name in body.model_fields_set}
        if "name" in named and named["name"] is None:
            raise bad_request([FieldProblem(path="name", message="cannot be null")])
        async with self._database.transaction() as unit:
            agent = await agent_of(unit, caller, agent_id, lock=True)
            if any(getattr(agent, name) != value for name, value in named.items()):
                await agents.change(unit, agent.id, named | {"updated_at": self._clock()})
            return agent_view(await seen_agent(unit, caller, agent_id))


async def agent_of(unit: Unit, caller: Caller, agent_id: UUID, *, lock: bool = False) -> AgentRecord:
    """Read an agent of the caller's account.

    Raises:
        ApiError: 404, for another account's as for none.
    """
    found = await agents.get(unit, caller.account_id, agent_id, lock=lock)
    if found is None:
        raise not_found("agent")
    return found


async def seen_agent(unit: Unit, caller: Caller, agent_id: UUID) -> SeenAgent:
    """Read an agent with what is current of it.

    Raises:
        ApiError: 404.
    """
    found = await agents.seen(unit, caller.account_id, agent_id)
    if found is None:
        raise not_found("agent")
    return found


async def provisioned(unit: Unit, integration: IntegrationRecord, *, now: datetime) -> AgentRecord:
    """Read the agent of a locked integration, or make it with its first version.

    Raises:
        ApiError: 404 when the integration is gone.
    """
    found = await agents.of_integration(unit, integration.account_id, integration.id)
    if found is not None:
        return found
    first = VersionRecord(
        id=new_id(),
        account_id=integration.account_id,
        agent_id=new_id(),
        version_number=1,
        prompt=integration.agent_prompt,
        source=VersionSource.MANUAL.value,
        is_immutable=False,
        created_at=now,
        updated_at=now,
    )
    agent = AgentRecord(
        id=first.agent_id,
        account_id=integration.account_id,
        integration_id=integration.id,
        name=FIRST_NAME,
        current_version_id=first.id,
        default_provider=None,
        default_model=None,
        created_at=now,
        updated_at=now,
    )
    try:
        if await agents.create(unit, agent):
            await versions.create(unit, first)
            return agent
        found = await agents.of_integration(unit, integration.account_id, integration.id)
    except Vanished as error:
        raise not_found("integration") from error
    if found is None:
        raise not_found("integration")
    return found


def agent_view(seen: SeenAgent) -> AgentView:
    """Show an agent."""
    agent = seen.agent
    current = None
    if agent.current_version_id and seen.version_number and seen.version_source and seen.version_created_at:
        current = VersionRef(
            id=agent.current_version_id,
            version_number=seen.version_number,
            source=VersionSource(seen.version_source),
            created_at=seen.version_created_at,
        )
    return AgentView(
        id=agent.id,
        integration_id=agent.integration_id,
        name=agent.name,
        current_version_id=agent.current_version_id,
        current_version=current,
        prompt_differs=seen.prompt_differs,
        default_provider=None if agent.default_provider is None else Provider(agent.default_provider),
        default_model=agent.default_model,
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )
