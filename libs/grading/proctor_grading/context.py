"""What a grader knows besides the transcript, and the two engines it may be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from proctor_contracts.base import Json
from proctor_contracts.effects import Effect
from proctor_contracts.transcript import Usage

__all__ = [
    "GradingContext",
    "LanguageDetector",
    "RegexAnswer",
    "RegexEngine",
    "RegexFound",
    "RegexInvalid",
    "RegexLimit",
    "RegexMissing",
]


@dataclass(frozen=True, slots=True)
class RegexFound:
    """The pattern was found at `start` (in characters of the NFC text)."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class RegexMissing:
    """The pattern was not found."""


@dataclass(frozen=True, slots=True)
class RegexInvalid:
    """The pattern or its flags do not compile."""

    reason: str


@dataclass(frozen=True, slots=True)
class RegexLimit:
    """A limit was hit before the answer: `regex_timeout` or `text_too_long`."""

    code: str
    reason: str


RegexAnswer = RegexFound | RegexMissing | RegexInvalid | RegexLimit


class RegexEngine(Protocol):
    """JavaScript regular expressions; calls block, so they belong on one dedicated thread."""

    def search(self, pattern: str, flags: str, text: str) -> RegexAnswer:
        """Look for a pattern in a text."""
        ...

    def problem(self, pattern: str, flags: str = "") -> str | None:
        """Say why a pattern cannot be saved, or None when it can."""
        ...


class LanguageDetector(Protocol):
    """A statistical guess of a text's language."""

    def supports(self, language: str) -> bool:
        """Whether the ISO 639-1 code is one that this detector knows."""
        ...

    def guess(self, text: str) -> tuple[str | None, float]:
        """Return the likeliest ISO 639-1 code and its confidence (0-1)."""
        ...


@dataclass(frozen=True, slots=True)
class GradingContext:
    """Facts about one attempt that the transcript does not hold.

    `tools_captured` says whether loop and adapter together record tool calls; when false,
    `tools_missing_reason` is `no_tool_capture` or `tools_not_reported`. `cost_micro_usd` is the agent's calls
    alone, None when a price is unknown; `usage` likewise, None when the agent reports no tokens. `effects` is
    the ledger of writes in order, None when the run keeps none.
    """

    regex: RegexEngine
    prompt: str = ""
    tools_captured: bool = False
    tools_missing_reason: str | None = None
    outcomes: Mapping[str, Json] = field(default_factory=dict)
    cost_micro_usd: int | None = None
    usage: Usage | None = None
    languages: LanguageDetector | None = None
    effects: Sequence[Effect] | None = None
