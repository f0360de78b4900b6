"""What a case may assert of the agent's tools: its calls, their order, and what they wrote."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from .assertion_base import AssertionBase, Flags, Pattern, ToolName
from .base import TYPED, SafeText, Strict
from .effects import Action
from .matchers import Count, Matcher

__all__ = [
    "ArgsMatch",
    "Event",
    "Failure",
    "Precedes",
    "Reaction",
    "Recovery",
    "SequenceMode",
    "State",
    "ToolArgs",
    "ToolCall",
    "ToolPolicy",
    "ToolSequence",
    "ToolStep",
    "WhichCalls",
    "WrittenEntity",
]

Path = Annotated[SafeText, Field(min_length=1, max_length=256)]
Paths = Annotated[dict[Path, Matcher], Field(max_length=100)]
Times = Annotated[int, Field(ge=0, le=10_000), TYPED]
Globs = Annotated[tuple[ToolName, ...], Field(min_length=1, max_length=200)]


class ToolCall(AssertionBase):
    """How often the agent called a tool, counting only calls whose arguments match."""

    needs_tools: ClassVar[bool] = True

    kind: Literal["tool_call"] = "tool_call"
    tool_name: Annotated[ToolName, Field(validation_alias=AliasChoices("toolName", "name", "tool_name"))]
    args_regex: Pattern | dict[Annotated[str, Field(min_length=1, max_length=256)], Pattern] | None = None
    args_flags: Flags = ""
    min_occurrence: Times | None = None
    max_occurrence: Times | None = None
    must_not_match: bool = False

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        low = 1 if self.min_occurrence is None else self.min_occurrence
        if self.max_occurrence is not None and low > self.max_occurrence:
            raise ValueError(
                f"minOccurrence ({low}) is above maxOccurrence ({self.max_occurrence}), so no number of "
                "calls can pass; lower minOccurrence (its default is 1) or raise maxOccurrence"
            )
        return self


class ArgsMatch(StrEnum):
    """How a call's arguments stand to the stated ones: the same, at least these, or at most these."""

    EXACT = "exact"
    CONTAINS = "contains"
    WITHIN = "within"


class WhichCalls(StrEnum):
    """Which calls of a tool must have the arguments."""

    ANY = "any"
    ALL = "all"
    FIRST = "first"
    LAST = "last"


class ToolArgs(AssertionBase):
    """The arguments of a tool's calls, by dot path."""

    needs_tools: ClassVar[bool] = True

    kind: Literal["tool_args"] = "tool_args"
    tool_name: ToolName
    args: Paths
    match: ArgsMatch = ArgsMatch.CONTAINS
    which: WhichCalls = WhichCalls.ANY

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.args and self.match is ArgsMatch.CONTAINS:
            raise ValueError(
                "args is empty, so any arguments match; name some, use tool_call to count calls, or set "
                "match: exact for a call without arguments"
            )
        return self


class SequenceMode(StrEnum):
    """How the agent's calls stand to the steps.

    `exact` these calls in this order and no others; `in_order` these in this order among others; `any_order`
    these among others; `unordered` these and no others; `subset` no others; `forbidden` none of these.
    """

    EXACT = "exact"
    IN_ORDER = "in_order"
    ANY_ORDER = "any_order"
    UNORDERED = "unordered"
    SUBSET = "subset"
    FORBIDDEN = "forbidden"


class ToolStep(Strict):
    """One call; without `args` whatever its arguments."""

    tool_name: ToolName
    args: Paths | None = None
    match: ArgsMatch = ArgsMatch.CONTAINS


class ToolSequence(AssertionBase):
    """The agent's calls as a whole, compared with steps; each call answers for one step at most."""

    needs_tools: ClassVar[bool] = True

    kind: Literal["tool_sequence"] = "tool_sequence"
    mode: SequenceMode
    steps: Annotated[tuple[ToolStep, ...], Field(max_length=200)]


class ToolPolicy(AssertionBase):
    """What the agent may call at all, and how often; names are globs, and `deny` wins over `allow`.

    `maxPerTool` bounds every tool whose name fits; `maxRepeatSameArgs` bounds equal calls, 1 meaning that
    none is repeated.
    """

    needs_tools: ClassVar[bool] = True

    kind: Literal["tool_policy"] = "tool_policy"
    allow: Globs | None = None
    deny: Globs | None = None
    max_calls: Times | None = None
    max_per_tool: Annotated[dict[ToolName, Times], Field(min_length=1, max_length=200)] | None = None
    max_repeat_same_args: Annotated[int, Field(ge=1, le=10_000), TYPED] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        rules = (self.allow, self.deny, self.max_calls, self.max_per_tool, self.max_repeat_same_args)
        if all(rule is None for rule in rules):
            raise ValueError("give at least one of allow, deny, maxCalls, maxPerTool and maxRepeatSameArgs")
        return self


class Event(Strict):
    """Something that happens in a conversation: a call, or words of the agent or the user (patterns)."""

    tool_name: ToolName | None = None
    agent_text: Pattern | None = None
    user_text: Pattern | None = None
    flags: Flags = ""

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if sum(given is not None for given in (self.tool_name, self.agent_text, self.user_text)) != 1:
            raise ValueError("give exactly one of toolName, agentText and userText")
        if self.flags and self.tool_name is not None:
            raise ValueError("flags belong to agentText or userText; toolName is an exact name")
        return self


class Precedes(AssertionBase):
    """Something that must happen before something else does, such as a confirmation before a refund."""

    kind: Literal["precedes"] = "precedes"
    before: Event
    after: Event

    @property
    def reads_tools(self) -> bool:
        """Whether one of the two events is a call."""
        return self.before.tool_name is not None or self.after.tool_name is not None

    @model_validator(mode="after")
    def _two_events(self) -> Self:
        if self.before == self.after:
            raise ValueError("before and after are the same event")
        return self


class WrittenEntity(Strict):
    """Writes of an entity that were made, or in a dry run would have been.

    `where` reads the record after the write, then the call's arguments; without `action` any write counts.
    """

    entity: Annotated[SafeText, Field(min_length=1, max_length=128)]
    action: Literal[Action.CREATE, Action.UPDATE, Action.DELETE] | None = None
    count: Count = Field(default_factory=lambda: {"gte": 1})
    where: Paths = Field(default_factory=dict)


class State(AssertionBase):
    """What the conversation wrote, whatever the way to it; needs the gateway's ledger of writes."""

    needs_effects: ClassVar[bool] = True

    kind: Literal["state"] = "state"
    expect: Annotated[tuple[WrittenEntity, ...], Field(max_length=100)] = ()
    no_other_writes: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.expect and not self.no_other_writes:
            raise ValueError("give expect, or noOtherWrites: true for no write at all")
        return self


class Failure(StrEnum):
    """Which failed calls are looked at: those with an error, those that took too long, or both."""

    ERROR = "error"
    TIMEOUT = "timeout"
    ANY = "any"


class Reaction(StrEnum):
    """What a good agent does when a tool fails."""

    RETRY = "retry"
    ESCALATE = "escalate"
    NO_FABRICATION = "no_fabrication"


class Recovery(AssertionBase):
    """What the agent does after a call has failed, within so many of its next calls and messages."""

    needs_tools: ClassVar[bool] = True

    kind: Literal["recovery"] = "recovery"
    after: Failure = Failure.ANY
    tool_name: ToolName | None = None
    expect: Reaction
    within: Annotated[int, Field(ge=1, le=100), TYPED] = 2
