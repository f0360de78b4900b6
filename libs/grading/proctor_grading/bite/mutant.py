"""What mutants are made from, and what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor_contracts.base import Json
from proctor_contracts.cases import CaseFields
from proctor_contracts.enums import Role
from proctor_contracts.schemas.bite import MutantKind, SkippedMutants
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry

from .speech import LANGUAGES, Speech

__all__ = ["Made", "Mutant", "Original", "ToolFault", "skipped"]


@dataclass(frozen=True, slots=True)
class Original:
    """A right conversation of a case, and what the case asks of its words.

    `words` are the texts that the case's checks want, as they stand in the conversation; `language` is one of
    `LANGUAGES` or None; `sketched` says that the conversation was made from the checks, not by an author.
    """

    case: CaseFields
    transcript: tuple[TranscriptEntry, ...]
    outcomes: Mapping[str, Json]
    prompt: str = ""
    language: str | None = None
    words: tuple[str, ...] = ()
    sketched: bool = False

    @property
    def speech(self) -> Speech | None:
        """What a wrong agent says in the conversation's language."""
        return None if self.language is None else LANGUAGES[self.language]

    @property
    def replies(self) -> tuple[TranscriptEntry, ...]:
        """The agent's own entries."""
        return tuple(entry for entry in self.transcript if entry.graded)

    @property
    def user_texts(self) -> tuple[str, ...]:
        """What the user says."""
        return tuple(entry.content for entry in self.transcript if entry.role is Role.TESTER)

    def with_replies(self, replies: Sequence[TranscriptEntry | None]) -> tuple[TranscriptEntry, ...]:
        """Put other entries, or none, where the agent's own stand."""
        left = iter(replies)
        changed = (next(left) if entry.graded else entry for entry in self.transcript)
        return tuple(entry for entry in changed if entry is not None)

    def saying(self, texts: Sequence[str]) -> tuple[TranscriptEntry, ...]:
        """Put other words into the agent's mouth; its calls stay."""
        pairs = zip(self.replies, texts, strict=True)
        return self.with_replies([entry.model_copy(update={"content": text}) for entry, text in pairs])


@dataclass(frozen=True, slots=True)
class ToolFault:
    """Which call of which tool was changed: how many of its name there are, and the argument if it was one.

    `same` counts the calls of this tool with the same value there.
    """

    tool: str
    calls: int
    path: str | None = None
    value: Json = None
    same: int = 0


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong conversation: `name` tells it from the case's others, `change` and `why` are for people."""

    kind: MutantKind
    name: str
    change: str
    why: str
    transcript: tuple[TranscriptEntry, ...]
    outcomes: Mapping[str, Json] = field(default_factory=dict)
    fault: ToolFault | None = None

    @property
    def calls(self) -> tuple[ToolCallRecord, ...]:
        """The agent's calls."""
        return tuple(call for entry in self.transcript if entry.graded for call in entry.tool_calls)

    def keeps_calls(self, original: Original) -> bool:
        """Whether the calls are the original's."""
        return self.calls == replace(self, transcript=original.transcript).calls


Made = tuple[Mutant, ...] | SkippedMutants
"""Mutants of one kind, or why there is none."""


def skipped(kind: MutantKind, reason: str) -> SkippedMutants:
    """Say why a kind does not apply."""
    return SkippedMutants(kind=kind, reason=reason)
