"""Agents and the versions of their prompts over REST."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from proctor_contracts.base import TYPED, SafeText, Strict, Wire
from proctor_contracts.enums import Provider

from .common import Timestamp, Warning_
from .integrations import Model, Prompt

__all__ = [
    "Activation",
    "AgentPatch",
    "AgentView",
    "DiffRow",
    "DiffSpan",
    "Generate",
    "Generated",
    "Rollback",
    "VersionCreate",
    "VersionDiff",
    "VersionRef",
    "VersionSource",
    "VersionView",
]


class VersionSource(StrEnum):
    """Where a version's prompt came from."""

    MANUAL = "manual"
    AI_GENERATED = "ai_generated"
    PLATFORM_SYNC = "platform_sync"
    ROLLBACK = "rollback"


class VersionRef(Wire):
    """Enough of a version to name it."""

    id: UUID
    version_number: int
    source: VersionSource
    created_at: Timestamp


class AgentPatch(Strict):
    """Named fields change; an explicit null clears a default."""

    name: Annotated[SafeText, Field(min_length=1, max_length=128)] | None = None
    default_provider: Provider | None = None
    default_model: Model | None = None


class AgentView(Wire):
    """An integration's agent.

    `promptDiffers` says that the integration's prompt was changed past the versions since one was activated;
    `POST …/sync` makes a version of it.
    """

    id: UUID
    integration_id: UUID
    name: str
    current_version_id: UUID | None
    current_version: VersionRef | None
    prompt_differs: bool
    default_provider: Provider | None
    default_model: str | None
    created_at: Timestamp
    updated_at: Timestamp


class Activation(AgentView):
    """The agent as this activation left it, and which version was current until then."""

    previous_version_id: UUID | None


class VersionCreate(Strict):
    """A new draft; nothing uses it until it is activated or named by a run."""

    prompt: Annotated[Prompt, Field(min_length=1)]
    parent_version_id: UUID | None = None
    notes: Annotated[SafeText, Field(max_length=10_000)] | None = None
    created_by: Annotated[SafeText, Field(min_length=1, max_length=128)] | None = None


class Rollback(Strict):
    """What to say about a rollback."""

    notes: Annotated[SafeText, Field(max_length=10_000)] | None = None
    created_by: Annotated[SafeText, Field(min_length=1, max_length=128)] | None = None


class VersionView(Wire):
    """A version; its prompt never changes. `createdBy` is what was given, else the id of the asking key."""

    id: UUID
    agent_id: UUID
    version_number: int
    prompt: str
    source: VersionSource
    parent_version_id: UUID | None
    platform_version: str | None
    platform_synced_at: Timestamp | None
    generation_context: str | None
    exported_to_platform_at: Timestamp | None
    notes: str | None
    created_by: str | None
    is_immutable: bool
    is_current: bool
    created_at: Timestamp
    updated_at: Timestamp


class Generate(Strict):
    """Ask for variants of a prompt; only the first five runs that are named are read."""

    feedback: Annotated[SafeText, Field(min_length=1, max_length=20_000)]
    failed_run_ids: Annotated[tuple[UUID, ...], Field(max_length=50)] = ()
    variant_count: Annotated[int, Field(ge=1, le=5), TYPED] = 3
    base_version_id: UUID | None = None


class Generated(Wire):
    """New drafts; when the meta model gives none, `data` is empty and a warning says why."""

    data: tuple[VersionView, ...]
    warnings: tuple[Warning_, ...] = ()


class DiffSpan(Wire):
    """A piece of a line; a changed one stands on this side alone."""

    text: str
    changed: bool


class DiffRow(Wire):
    """One line of the left text beside one of the right; numbers count from 1."""

    kind: Literal["equal", "changed", "removed", "added"]
    left_number: int | None
    left: tuple[DiffSpan, ...]
    right_number: int | None
    right: tuple[DiffSpan, ...]


class VersionDiff(Wire):
    """Two versions side by side, word by word; ends of lines and their form do not count as changes."""

    left: VersionRef
    right: VersionRef
    identical: bool
    words_removed: int
    words_added: int
    rows: tuple[DiffRow, ...]
