"""A transcript as the checks read it: what the agent said, called and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from proctor_contracts.enums import Role, Scope
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry

from .text import blank, fold

__all__ = ["FORBIDDEN_SCOPE_NAMES", "SCOPE_NAMES", "Asked", "Call", "Conversation", "Happened", "Message"]

SCOPE_NAMES = {
    Scope.ANY: "any agent message",
    Scope.ALL: "every agent message",
    Scope.FIRST: "the first agent message",
    Scope.LAST: "the last agent message",
}
FORBIDDEN_SCOPE_NAMES = SCOPE_NAMES | {Scope.ALL: SCOPE_NAMES[Scope.ANY]}
"""The same for checks that something is absent, which always read every message."""

TRUNCATED = "truncated_tool_call"
WANTS_TOOLS = "tool_use"
"""The `finish` of a model's reply that asks for tools: its words come before the calls, and none of these
knows another's result."""


@dataclass(frozen=True, slots=True)
class Message:
    """An agent's message that shows something, with its index in the transcript."""

    entry: int
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the agent, with the index of the entry that made it."""

    entry: int
    record: ToolCallRecord


@dataclass(frozen=True, slots=True)
class Asked:
    """A user's message, with its index in the transcript."""

    entry: int
    text: str


Happened = Message | Call | Asked


class Conversation:
    """A read-only view of one transcript; what is derived from it is worked out once.

    A message that shows nothing counts as no message. Two bubbles of one turn are two messages. Words that
    a script put into the agent's mouth are history: nobody grades them.
    """

    def __init__(self, transcript: Sequence[TranscriptEntry]) -> None:
        self.entries = transcript
        self._folded: dict[tuple[int, bool], str] = {}

    @cached_property
    def said(self) -> tuple[Message, ...]:
        """The agent's messages that show something."""
        return tuple(
            Message(index, entry.content)
            for index, entry in enumerate(self.entries)
            if entry.graded and not blank(entry.content)
        )

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The agent's tool calls in order; one that was cut off by the token limit never happened."""
        return tuple(
            Call(index, record)
            for index, entry in enumerate(self.entries)
            if entry.graded
            for record in entry.tool_calls
            if not (record.error or "").startswith(TRUNCATED)
        )

    @cached_property
    def happened(self) -> tuple[Happened, ...]:
        """Everything said and called, in order.

        A model's words that introduce its calls come before them; a reply that reports the calls made for it
        comes after them.
        """
        order: list[Happened] = []
        said = {message.entry: message for message in self.said}
        for index, entry in enumerate(self.entries):
            if entry.role is Role.TESTER:
                order.append(Asked(index, entry.content))
            message = said.get(index)
            introduces = message is not None and entry.finish == WANTS_TOOLS
            if message is not None and introduces:
                order.append(message)
            order.extend(self._calls_of.get(index, ()))
            if message is not None and not introduces:
                order.append(message)
        return tuple(order)

    @cached_property
    def _calls_of(self) -> dict[int, list[Call]]:
        calls: dict[int, list[Call]] = {}
        for call in self.calls:
            calls.setdefault(call.entry, []).append(call)
        return calls

    def side_by_side(self, one: Call, other: Call) -> bool:
        """Whether two calls were asked for in one reply of the model, neither knowing the other's result."""
        return one.entry == other.entry and self.entries[one.entry].finish == WANTS_TOOLS

    @property
    def silent(self) -> bool:
        """Whether the agent neither said nor called anything."""
        return not self.said and not self.calls

    def messages(self, scope: Scope) -> tuple[Message, ...]:
        """Return the messages that a scope reads; empty when the agent was silent there."""
        match scope:
            case Scope.ANY | Scope.ALL:
                return self.said
            case Scope.FIRST:
                return self.said[:1] if self.said and not self._silent_before(self.said[0].entry) else ()
            case Scope.LAST:
                return self.said[-1:] if self.said and not self._asked_after(self.said[-1].entry) else ()
            case _:
                assert_never(scope)

    def folded(self, message: Message, *, case_insensitive: bool) -> str:
        """Return a message folded for comparison."""
        key = (message.entry, case_insensitive)
        if (text := self._folded.get(key)) is None:
            text = self._folded[key] = fold(message.text, case_insensitive=case_insensitive)
        return text

    @cached_property
    def turns(self) -> tuple[tuple[TranscriptEntry, ...], ...]:
        """The agent's entries grouped by the user turn they answer; a turn without any is left out."""
        groups: list[list[TranscriptEntry]] = [[]]
        for entry in self.entries:
            if entry.role is Role.TESTER:
                groups.append([])
            elif entry.graded:
                groups[-1].append(entry)
        return tuple(tuple(group) for group in groups if group)

    def _silent_before(self, index: int) -> bool:
        """Whether a user message before `index` got no answer: the agent's first turn was silence."""
        asked = False
        for entry in self.entries[:index]:
            if entry.role is Role.TESTER:
                if asked:
                    return True
                asked = True
            elif entry.role is Role.AGENT and not entry.graded:
                asked = False
        return False

    def _asked_after(self, index: int) -> bool:
        """Whether the user spoke after `index`, so that the agent's last turn was silence."""
        return any(entry.role is Role.TESTER for entry in self.entries[index + 1 :])
