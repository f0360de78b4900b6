"""What the services say to each other."""

from .base import Message, RunMessage
from .captures import CaptureRecorded
from .jobs import CaseRequested, JudgeCriterion, JudgeRequested
from .outcomes import CaseExecuted, CaseJudged
from .runs import LiveEvent, LiveHint, RunCancelled, RunCompleted, Transient, WorkerHeartbeat
from .schedules import RegressionDetected, ScheduleFired

__all__ = [
    "CaptureRecorded",
    "CaseExecuted",
    "CaseJudged",
    "CaseRequested",
    "JudgeCriterion",
    "JudgeRequested",
    "LiveEvent",
    "LiveHint",
    "Message",
    "RegressionDetected",
    "RunCancelled",
    "RunCompleted",
    "RunMessage",
    "ScheduleFired",
    "Transient",
    "WorkerHeartbeat",
]
