"""What a case may assert: one tagged union on `kind`, each member saying how it answers in its docstring."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from .assertion_base import AssertionBase, Flags, Needle, Pattern, ScopedBase
from .base import TYPED, Json, SafeText
from .enums import Scope
from .tool_assertions import Precedes, Recovery, State, ToolArgs, ToolCall, ToolPolicy, ToolSequence

__all__ = [
    "Assertion",
    "Contains",
    "ContainsAll",
    "ContainsAny",
    "Cost",
    "GroundedFacts",
    "JsonSchema",
    "JsonWhere",
    "Judge",
    "Lang",
    "LangMode",
    "Latency",
    "LatencyMetric",
    "NoPromptLeak",
    "NotContains",
    "Outcome",
    "Precedes",
    "Recovery",
    "Regex",
    "State",
    "ToolArgs",
    "ToolCall",
    "ToolPolicy",
    "ToolSequence",
]


class Regex(ScopedBase):
    """A JavaScript regular expression that must be found, or with `mustMatch: false` must not."""

    kind: Literal["regex"] = "regex"
    pattern: Pattern
    flags: Flags = ""
    must_match: bool = True


class Contains(ScopedBase):
    """A text that must occur, compared in one Unicode form."""

    kind: Literal["contains"] = "contains"
    value: Needle
    case_insensitive: bool = False


class NotContains(ScopedBase):
    """A text that must not occur in any message of the scope."""

    kind: Literal["not_contains"] = "not_contains"
    value: Needle
    case_insensitive: bool = False


class ContainsAll(ScopedBase):
    """Texts that must all occur in one message."""

    kind: Literal["contains_all"] = "contains_all"
    values: Annotated[tuple[Needle, ...], Field(min_length=1, max_length=200)]
    case_insensitive: bool = False


class ContainsAny(ScopedBase):
    """Texts of which at least one must occur."""

    kind: Literal["contains_any"] = "contains_any"
    values: Annotated[tuple[Needle, ...], Field(min_length=1, max_length=200)]
    case_insensitive: bool = False


class LangMode(StrEnum):
    """Which rules decide a language: the full ones, or only the forbidden letters of the first product."""

    LETTERS = "letters"
    SEED = "seed"
    AUTO = "auto"


class Lang(ScopedBase):
    """The language of the answers: uk, ru and en by letters, others through the `lang` extra."""

    kind: Literal["lang"] = "lang"
    expected: Annotated[str, Field(pattern=r"^[a-z]{2}$")]
    scope: Scope = Scope.ALL
    mode: LangMode = LangMode.LETTERS
    ignore: Annotated[tuple[Needle, ...], Field(max_length=200)] = ()
    ignore_quotes: bool = False
    homoglyphs: Literal["report", "fail"] = "report"


class Outcome(AssertionBase):
    """A label that the bot reports beside its answer, such as its department."""

    kind: Literal["outcome"] = "outcome"
    field: Annotated[SafeText, Field(min_length=1, max_length=128)]
    equals: Json = None
    in_: Annotated[
        Annotated[tuple[Any, ...], Field(min_length=1, max_length=200)] | None, Field(alias="in")
    ] = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if ("equals" in self.model_fields_set) == ("in_" in self.model_fields_set):
            raise ValueError("give exactly one of equals and in")
        return self


class LatencyMetric(StrEnum):
    """Which time of a case is compared."""

    MAX = "max"
    P95 = "p95"
    TOTAL = "total"
    TTFT = "ttft"


class Latency(AssertionBase):
    """The agent's time, harness and waits left out, in milliseconds."""

    kind: Literal["latency"] = "latency"
    max_ms: Annotated[int, Field(ge=1, le=86_400_000), TYPED]
    metric: LatencyMetric = LatencyMetric.MAX


class Cost(AssertionBase):
    """What the agent's calls of one case may cost, in cents or in tokens."""

    kind: Literal["cost"] = "cost"
    max_cents: Annotated[float, Field(gt=0, le=1_000_000), TYPED] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000_000), TYPED] | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.max_cents is None) == (self.max_tokens is None):
            raise ValueError("give exactly one of maxCents and maxTokens")
        return self


class JsonWhere(StrEnum):
    """Where in an answer the JSON document stands."""

    WHOLE = "whole"
    EMBEDDED = "embedded"
    FENCE = "fence"


class JsonSchema(ScopedBase):
    """JSON in the answer that must satisfy a JSON Schema (2020-12 unless `$schema` says otherwise)."""

    kind: Literal["json_schema"] = "json_schema"
    where: JsonWhere = JsonWhere.WHOLE
    schema_: Annotated[dict[str, Any] | bool, Field(alias="schema")]


class NoPromptLeak(ScopedBase):
    """No run of eight words of the agent's prompt may stand in an answer."""

    kind: Literal["no_prompt_leak"] = "no_prompt_leak"


class GroundedFacts(ScopedBase):
    """Numbers, money, dates, links and ids of answers must come from the conversation or the given facts."""

    kind: Literal["grounded_facts"] = "grounded_facts"
    facts: Annotated[tuple[Needle, ...], Field(max_length=1_000)] = ()
    threshold: Annotated[float, Field(gt=0, le=1), TYPED] = 1


class Judge(AssertionBase):
    """One criterion that a judge model decides."""

    judged: ClassVar[bool] = True

    kind: Literal["judge"] = "judge"
    rubric: Annotated[SafeText, Field(min_length=1, max_length=20_000)]
    votes: Annotated[Literal[1, 3, 5], TYPED] | None = None


Assertion = Annotated[
    Regex
    | Contains
    | NotContains
    | ContainsAll
    | ContainsAny
    | Lang
    | ToolCall
    | ToolArgs
    | ToolSequence
    | ToolPolicy
    | Precedes
    | State
    | Recovery
    | Outcome
    | Latency
    | Cost
    | JsonSchema
    | NoPromptLeak
    | GroundedFacts
    | Judge,
    Field(discriminator="kind"),
]
"""Any assertion; `kind` chooses the member."""
