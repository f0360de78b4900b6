"""The closed sets of the domain; lower case on every wire."""

from __future__ import annotations

from enum import StrEnum

from typing_extensions import override

__all__ = [
    "Blame",
    "CaptureSource",
    "CaptureStatus",
    "KeyKind",
    "Phase",
    "Priority",
    "Provider",
    "ResultStatus",
    "RetryPolicy",
    "Role",
    "RunMode",
    "RunStatus",
    "Runner",
    "Scope",
    "Trigger",
]


class Priority(StrEnum):
    """How much a case matters to its author."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Role(StrEnum):
    """Who said a transcript entry."""

    TESTER = "tester"
    AGENT = "agent"
    SYSTEM = "system"
    JUDGE = "judge"

    @classmethod
    @override
    def _missing_(cls, value: object) -> Role | None:
        """Read the names that other products use."""
        return {"user": cls.TESTER, "assistant": cls.AGENT}.get(value) if isinstance(value, str) else None


class Provider(StrEnum):
    """Which adapter speaks to the agent or model."""

    ANTHROPIC = "anthropic"
    GROQ = "groq"
    OPENAI = "openai"
    HTTP = "http"
    REPLAY = "replay"

    @property
    def takes_tools(self) -> bool:
        """Whether it speaks to a model that can be given tools, rather than to a bot that has its own."""
        return self is not Provider.HTTP


class RunStatus(StrEnum):
    """The life of a run."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether nothing changes this status any more."""
        return self in {RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED}


class ResultStatus(StrEnum):
    """The life of one case and trial in a run; `error` means we could not find out."""

    PENDING = "pending"
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether nothing changes this status any more."""
        return self not in {ResultStatus.PENDING, ResultStatus.RUNNING}


class Trigger(StrEnum):
    """What started a run."""

    MANUAL = "manual"
    SCHEDULED = "scheduled"
    CI_CD = "ci_cd"


class RunMode(StrEnum):
    """What a run plays."""

    CASE = "case"
    PERSONA = "persona"


class Runner(StrEnum):
    """Which loop plays the cases of a run."""

    SCRIPTED = "scripted"
    GATEWAY = "gateway"


class RetryPolicy(StrEnum):
    """What the attempts of a failed case add up to."""

    ANY = "any"
    NONE = "none"
    ALL = "all"


class Scope(StrEnum):
    """Which agent messages an assertion reads."""

    ANY = "any_agent_msg"
    ALL = "all_agent_msgs"
    FIRST = "first_agent_msg"
    LAST = "last_agent_msg"


class KeyKind(StrEnum):
    """What an API key may do: everything of its account, or only read runs and send captures."""

    PRIVATE = "private"
    PUBLIC = "public"


class CaptureSource(StrEnum):
    """Who found a conversation worth keeping."""

    SOFA = "sofa"
    MANUAL = "manual"
    REPLAY = "replay"
    AUDIT = "audit"


class CaptureStatus(StrEnum):
    """What has become of a captured conversation."""

    NEW = "new"
    REVIEWED = "reviewed"
    CONVERTED = "converted"
    IGNORED = "ignored"


class Phase(StrEnum):
    """The two halves of an attempt that the collector records."""

    EXECUTED = "executed"
    JUDGED = "judged"


class Blame(StrEnum):
    """Whose fault an error is; never the bot's misbehaviour, which is a failure."""

    AGENT = "agent"
    SIMULATOR = "simulator"
    JUDGE = "judge"
    TOOL = "tool"
    PROVIDER = "provider"
    INFRASTRUCTURE = "infrastructure"
