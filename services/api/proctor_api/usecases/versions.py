"""Versions of an agent's prompt: drafted, activated, rolled back, synchronised, compared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from proctor_api.auth import Caller
from proctor_api.errors import bad_request, not_found, too_large
from proctor_contracts.ids import new_id
from proctor_contracts.schemas.agents import (
    Activation,
    Rollback,
    VersionCreate,
    VersionDiff,
    VersionRef,
    VersionSource,
    VersionView,
)
from proctor_contracts.schemas.common import FieldProblem, Listing, Meta
from proctor_store.paging import Page
from proctor_store.repositories import agents, integrations, versions
from proctor_store.repositories.agents import AgentRecord
from proctor_store.repositories.integrations import IntegrationRecord
from proctor_store.repositories.versions import VersionRecord
from proctor_store.session import Database, Unit

from .agents import agent_of, agent_view, seen_agent
from .integrations import PROMPT_LIMIT, integration_of
from .prompt_diff import compare_prompts

__all__ = ["Draft", "Versions", "added", "asking", "version_of", "version_view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a version says, before it has a number."""

    prompt: str
    source: VersionSource
    parent_version_id: UUID | None = None
    platform_version: str | None = None
    platform_synced_at: datetime | None = None
    generation_context: str | None = None
    notes: str | None = None
    created_by: str | None = None


class Versions:
    """The life of versions.

    Nothing changes a prompt once it is written, and only `activate` and `rollback` change what the
    integration says.
    """

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def create(self, caller: Caller, agent_id: UUID, body: VersionCreate) -> VersionView:
        """Add a draft, by default as a child of the current version.

        Raises:
            ApiError: 400 for a parent that is not this agent's, 404, 413 for the prompt.
        """
        _fits(body.prompt)
        async with self._database.transaction() as unit:
            agent = await agent_of(unit, caller, agent_id, lock=True)
            parent = body.parent_version_id or agent.current_version_id
            if body.parent_version_id is not None:
                await version_of(unit, caller, agent, body.parent_version_id, field="parentVersionId")
            draft = Draft(
                prompt=body.prompt,
                source=VersionSource.MANUAL,
                parent_version_id=parent,
                notes=body.notes,
                created_by=body.created_by or asking(caller),
            )
            return version_view(await added(unit, agent, draft, now=self._clock()), agent.current_version_id)

    async def list(
        self, caller: Caller, agent_id: UUID, page: Page, *, number: int | None = None
    ) -> Listing[VersionView]:
        """List an agent's versions, newest first; `number` keeps the one that has it.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            agent = await agent_of(unit, caller, agent_id)
            rows = await versions.listed(unit, agent.id, page, number=number)
        return Listing[VersionView](
            data=tuple(version_view(record, agent.current_version_id) for record in rows.items),
            meta=Meta(total=rows.total, take=page.take, skip=page.skip, next_cursor=rows.next_cursor),
        )

    async def get(self, caller: Caller, agent_id: UUID, version_id: UUID) -> VersionView:
        """Read one.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            agent = await agent_of(unit, caller, agent_id)
            return version_view(await version_of(unit, caller, agent, version_id), agent.current_version_id)

    async def activate(self, caller: Caller, agent_id: UUID, version_id: UUID) -> Activation:
        """Make a version the current one and write its prompt to the integration, in one transaction.

        Of two at once the later one stays; each answer tells what the agent was at its own moment.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            agent, integration = await self._held(unit, caller, agent_id)
            version = await version_of(unit, caller, agent, version_id)
            await self._activate(unit, agent, integration, version)
            view = agent_view(await seen_agent(unit, caller, agent_id))
        return Activation(previous_version_id=agent.current_version_id, **dict(view))

    async def rollback(self, caller: Caller, agent_id: UUID, version_id: UUID, body: Rollback) -> VersionView:
        """Clone a version into a new one and make that the current one; history stays as it was.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            agent, integration = await self._held(unit, caller, agent_id)
            old = await version_of(unit, caller, agent, version_id)
            draft = Draft(
                prompt=old.prompt,
                source=VersionSource.ROLLBACK,
                parent_version_id=old.id,
                platform_version=old.platform_version,
                notes=body.notes,
                created_by=body.created_by or asking(caller),
            )
            new = await added(unit, agent, draft, now=self._clock())
            await self._activate(unit, agent, integration, new)
        return version_view(new, new.id)

    async def sync(self, caller: Caller, agent_id: UUID) -> VersionView:
        """Keep what the integration says now as an immutable snapshot, without making it current.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            agent, integration = await self._held(unit, caller, agent_id)
            now = self._clock()
            draft = Draft(
                prompt=integration.agent_prompt,
                source=VersionSource.PLATFORM_SYNC,
                parent_version_id=agent.current_version_id,
                platform_version=integration.platform_assistant_id,
                platform_synced_at=now,
                created_by=asking(caller),
            )
            return version_view(await added(unit, agent, draft, now=now), agent.current_version_id)

    async def exported(self, caller: Caller, version_id: UUID) -> VersionView:
        """Note that a version was pasted into the platform just now.

        Raises:
            ApiError: 404.
        """
        async with self._database.transaction() as unit:
            found = await versions.get(unit, caller.account_id, version_id)
            if found is None:
                raise not_found("version")
            await versions.mark_exported(unit, version_id, now=self._clock())
            agent = await agent_of(unit, caller, found.agent_id)
            return version_view(await version_of(unit, caller, agent, version_id), agent.current_version_id)

    async def diff(self, caller: Caller, agent_id: UUID, left_id: UUID, right_id: UUID) -> VersionDiff:
        """Lay two versions of one agent side by side.

        Raises:
            ApiError: 404.
        """
        async with self._database.reading() as unit:
            agent = await agent_of(unit, caller, agent_id)
            left = await version_of(unit, caller, agent, left_id)
            right = await version_of(unit, caller, agent, right_id)
        # Seconds for the largest prompts that have little in common, so never on the event loop.
        found = await asyncio.to_thread(compare_prompts, left.prompt, right.prompt)
        return VersionDiff(
            left=_ref(left),
            right=_ref(right),
            identical=left.prompt == right.prompt,
            words_removed=found.words_removed,
            words_added=found.words_added,
            rows=found.rows,
        )

    async def _held(
        self, unit: Unit, caller: Caller, agent_id: UUID
    ) -> tuple[AgentRecord, IntegrationRecord]:
        """Lock an integration and its agent, always in this order."""
        integration_id = (await agent_of(unit, caller, agent_id)).integration_id
        integration = await integration_of(unit, caller, integration_id, lock=True)
        return await agent_of(unit, caller, agent_id, lock=True), integration

    async def _activate(
        self, unit: Unit, agent: AgentRecord, integration: IntegrationRecord, version: VersionRecord
    ) -> None:
        now = self._clock()
        if agent.current_version_id != version.id:
            await agents.change(unit, agent.id, {"current_version_id": version.id, "updated_at": now})
        if integration.agent_prompt != version.prompt:
            written = {"agent_prompt": version.prompt, "updated_at": now}
            await integrations.change(unit, integration.id, written)


async def version_of(
    unit: Unit, caller: Caller, agent: AgentRecord, version_id: UUID, *, field: str | None = None
) -> VersionRecord:
    """Read a version of an agent.

    Raises:
        ApiError: 404 where the version is named by the path; 400 naming `field` where a body names it.
    """
    found = await versions.get(unit, caller.account_id, version_id)
    if found is not None and found.agent_id == agent.id:
        return found
    if field is None:
        raise not_found("version of this agent")
    message = "there is no such version" if found is None else "is a version of another agent"
    raise bad_request([FieldProblem(path=field, message=message, code="no_such_version")])


async def added(unit: Unit, agent: AgentRecord, draft: Draft, *, now: datetime) -> VersionRecord:
    """Write a version under the next number; the agent must be locked, so that numbers have no gap.

    Raises:
        Vanished: when the agent is gone.
    """
    version = VersionRecord(
        id=new_id(),
        account_id=agent.account_id,
        agent_id=agent.id,
        version_number=await versions.last_number(unit, agent.id) + 1,
        prompt=draft.prompt,
        source=draft.source.value,
        is_immutable=draft.source is VersionSource.PLATFORM_SYNC,
        created_at=now,
        updated_at=now,
        parent_version_id=draft.parent_version_id,
        platform_version=draft.platform_version,
        platform_synced_at=draft.platform_synced_at,
        generation_context=draft.generation_context,
        notes=draft.notes,
        created_by=draft.created_by,
    )
    await versions.create(unit, version)
    return version


def asking(caller: Caller) -> str | None:
    """Who asks, where nothing else was said."""
    return None if caller.key_id is None else str(caller.key_id)


def version_view(record: VersionRecord, current: UUID | None) -> VersionView:
    """Show a version; `current` is the id of the agent's current one."""
    values = {name: getattr(record, name) for name in VersionRecord.__slots__ if name != "account_id"}
    return VersionView(**values, is_current=record.id == current)


def _ref(record: VersionRecord) -> VersionRef:
    return VersionRef(
        id=record.id,
        version_number=record.version_number,
        source=VersionSource(record.source),
        created_at=record.created_at,
    )


def _fits(prompt: str) -> None:
    size = len(prompt.encode())
    if size > PROMPT_LIMIT:
        raise too_large("prompt", f"is {size:,} bytes of UTF-8; a prompt may have {PROMPT_LIMIT:,}")
