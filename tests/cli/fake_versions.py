"""The versions of one bot's prompt, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from proctor_contracts.ids import new_id
from proctor_contracts.schemas.agents import (
    Activation,
    AgentView,
    DiffRow,
    DiffSpan,
    VersionCreate,
    VersionDiff,
    VersionRef,
    VersionSource,
    VersionView,
)
from proctor_contracts.schemas.compare import CompareCreate, CompareDetail, CompareView
from tests.reports.documents import START

__all__ = ["FakeVersions"]


@dataclass
class FakeVersions:
    """Knows the bot `bot`; `differs` says that its prompt was changed past its versions."""

    bot: UUID = field(default_factory=new_id)
    differs: bool = False
    agent: UUID = field(default_factory=new_id)
    kept: list[VersionView] = field(default_factory=list)

    async def agent_of(self, integration_id: UUID) -> AgentView:
        assert integration_id == self.bot
        if not self.kept:
            self._add("one", VersionSource.MANUAL, current=True)
        current = next(one for one in self.kept if one.is_current)
        return AgentView(
            id=self.agent,
            integration_id=self.bot,
            name="main",
            current_version_id=current.id,
            current_version=_ref(current),
            prompt_differs=self.differs,
            default_provider=None,
            default_model=None,
            created_at=START,
            updated_at=START,
        )

    async def versions(
        self, agent_id: UUID, *, number: int | None = None, take: int = 50
    ) -> tuple[VersionView, ...]:
        assert agent_id == self.agent
        found = [one for one in reversed(self.kept) if number in {None, one.version_number}]
        return tuple(found[:take])

    async def create_version(self, agent_id: UUID, version: VersionCreate) -> VersionView:
        assert agent_id == self.agent
        return self._add(version.prompt, VersionSource.MANUAL, notes=version.notes)

    async def activate_version(self, agent_id: UUID, version_id: UUID) -> Activation:
        assert agent_id == self.agent
        before = next(one.id for one in self.kept if one.is_current)
        self.kept = [one.model_copy(update={"is_current": one.id == version_id}) for one in self.kept]
        return Activation(previous_version_id=before, **dict(await self.agent_of(self.bot)))

    async def rollback_version(self, agent_id: UUID, version_id: UUID) -> VersionView:
        old = next(one for one in self.kept if one.id == version_id)
        new = self._add(old.prompt, VersionSource.ROLLBACK, parent=old.id)
        await self.activate_version(agent_id, new.id)
        return new

    async def sync_agent(self, agent_id: UUID) -> VersionView:
        assert agent_id == self.agent
        return self._add("from the platform", VersionSource.PLATFORM_SYNC)

    async def diff_versions(self, agent_id: UUID, left: UUID, right: UUID) -> VersionDiff:
        assert agent_id == self.agent
        before = next(one for one in self.kept if one.id == left)
        after = next(one for one in self.kept if one.id == right)
        row = DiffRow(
            kind="changed",
            left_number=1,
            left=(DiffSpan(text=before.prompt, changed=True),),
            right_number=1,
            right=(DiffSpan(text=after.prompt, changed=True),),
        )
        return VersionDiff(
            left=_ref(before), right=_ref(after), identical=False, words_removed=1, words_added=1, rows=(row,)
        )

    async def start_compare(self, agent_id: UUID, compare: CompareCreate) -> CompareView:
        raise NotImplementedError

    async def compared(self, compare_id: UUID) -> CompareDetail:
        raise NotImplementedError

    async def cancel_compare(self, compare_id: UUID) -> CompareView:
        raise NotImplementedError

    def _add(
        self,
        prompt: str,
        source: VersionSource,
        *,
        notes: str | None = None,
        parent: UUID | None = None,
        current: bool = False,
    ) -> VersionView:
        made = VersionView(
            id=new_id(),
            agent_id=self.agent,
            version_number=len(self.kept) + 1,
            prompt=prompt,
            source=source,
            parent_version_id=parent,
            platform_version=None,
            platform_synced_at=None,
            generation_context=None,
            exported_to_platform_at=None,
            notes=notes,
            created_by=None,
            is_immutable=source is VersionSource.PLATFORM_SYNC,
            is_current=current,
            created_at=START,
            updated_at=START,
        )
        self.kept.append(made)
        return made


def _ref(version: VersionView) -> VersionRef:
    return VersionRef(
        id=version.id,
        version_number=version.version_number,
        source=version.source,
        created_at=version.created_at,
    )
