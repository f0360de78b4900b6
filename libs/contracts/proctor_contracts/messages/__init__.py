"""What the services say to each other."""

from .base import Message
from .jobs import CaseRequested, JudgeCriterion, JudgeRequested
from .outcomes import CaseExecuted, CaseJudged
from .runs import LiveEvent, LiveHint, RunCancelled, RunCompleted, Transient, WorkerHeartbeat

__all__ = [
    "CaseExecuted",
    "CaseJudged",
    "CaseRequested",
    "JudgeCriterion",
    "JudgeRequested",
    "LiveEvent",
    "LiveHint",
    "Message",
    "RunCancelled",
    "RunCompleted",
    "Transient",
    "WorkerHeartbeat",
]
