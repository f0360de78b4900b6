"""A test case as users write it and as a run snapshots it."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from .assertions import Assertion
from .base import TYPED, SafeText, Strict, Wire
from .enums import Priority, RetryPolicy
from .transcript import ToolCallRecord

__all__ = [
    "CaseBudget",
    "CaseFields",
    "CaseInput",
    "CaseSnapshot",
    "Category",
    "Name",
    "Ref",
    "Reference",
    "ReferenceMessage",
    "ScriptedMessage",
    "ScriptedMulti",
    "ScriptedSingle",
    "Tag",
    "effective_retry_policy",
]

SECURITY_CATEGORY = "Безпека"


def _trimmed(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


Message = Annotated[SafeText, Field(min_length=1, max_length=100_000)]
Name = Annotated[SafeText, AfterValidator(_trimmed), Field(min_length=1, max_length=512)]
_Trimmed = BeforeValidator(lambda value: _trimmed(value) if isinstance(value, str) else value)
Category = Annotated[SafeText, _Trimmed, Field(min_length=1, max_length=64)]
Ref = Annotated[SafeText, _Trimmed, Field(min_length=1, max_length=64)]
Tag = Annotated[SafeText, _Trimmed, Field(min_length=1, max_length=64)]


class ScriptedSingle(Strict):
    """One user message, one reply."""

    kind: Literal["scripted_single"] = "scripted_single"
    message: Message


class ScriptedMessage(Strict):
    """One line of a script; `agent` lines put words into the history without calling the agent."""

    role: Annotated[
        Literal["user", "assistant"],
        BeforeValidator(
            lambda v: {"tester": "user", "agent": "assistant"}.get(v, v) if isinstance(v, str) else v
        ),
    ] = "user"
    content: Message


class ScriptedMulti(Strict):
    """User messages in turn, the agent answering each."""

    kind: Literal["scripted_multi"] = "scripted_multi"
    messages: Annotated[tuple[ScriptedMessage, ...], Field(min_length=1, max_length=200)]

    @model_validator(mode="after")
    def _has_user(self) -> Self:
        if self.messages[-1].role != "user":
            raise ValueError("the last message must be the user's, since the agent answers it")
        return self


CaseInput = Annotated[ScriptedSingle | ScriptedMulti, Field(discriminator="kind")]
"""What the agent is fed."""


class CaseBudget(Strict):
    """Limits of one case; a broken one fails the case as a required check would."""

    max_latency_ms: Annotated[int, Field(ge=1, le=86_400_000), TYPED] | None = None
    max_cost_cents: Annotated[float, Field(gt=0, le=1_000_000), TYPED] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000_000), TYPED] | None = None
    max_tool_calls: Annotated[int, Field(ge=0, le=10_000), TYPED] | None = None


class ReferenceMessage(Strict):
    """One agent message of a reference solution."""

    content: Message
    tool_calls: tuple[ToolCallRecord, ...] = ()


class Reference(Strict):
    """Replies and tool calls that prove a case can be solved."""

    messages: Annotated[tuple[ReferenceMessage, ...], Field(min_length=1, max_length=200)]
    outcomes: dict[str, object] = Field(default_factory=dict)


class CaseFields(Strict):
    """Everything a user may say of a case; the suite file and the REST body share it."""

    ref: Ref | None = None
    name: Name
    category: Category
    priority: Priority = Priority.MEDIUM
    input: CaseInput
    assertions: Annotated[tuple[Assertion, ...], Field(min_length=1, max_length=200)]
    rubric: Annotated[SafeText, Field(max_length=20_000)] | None = None
    weight: Annotated[int, Field(ge=1, le=10_000), TYPED] = 1
    threshold: Annotated[int, Field(ge=0, le=100), TYPED] | None = None
    tags: Annotated[tuple[Tag, ...], Field(max_length=100)] = ()
    is_active: bool = True
    critical: bool = False
    retry_policy: RetryPolicy | None = None
    reference: Reference | None = None
    budget: CaseBudget | None = None


class CaseSnapshot(Wire):
    """A case as a run took it; later edits do not reach it. `threshold` is already resolved (0-100)."""

    id: UUID
    revision: int = 1
    ref: str | None = None
    name: str
    category: str
    priority: Priority = Priority.MEDIUM
    input: CaseInput
    assertions: tuple[Assertion, ...]
    rubric: str | None = None
    weight: int = 1
    threshold: int = 70
    tags: tuple[str, ...] = ()
    critical: bool = False
    retry_policy: RetryPolicy = RetryPolicy.ANY
    budget: CaseBudget | None = None


def effective_retry_policy(
    stated: RetryPolicy | None, *, category: str, critical: bool, tags: tuple[str, ...], threshold: int
) -> RetryPolicy:
    """Choose the retry policy: as stated, else none where one lucky pass must not hide an exploit."""
    if stated is not None:
        return stated
    strict = critical or "critical" in tags or threshold == 100 or category == SECURITY_CATEGORY  # noqa: PLR2004 - all points
    return RetryPolicy.NONE if strict else RetryPolicy.ANY
