"""Every table."""

from .accounts import Account, ApiKey
from .agents import CompareRun, PromptVersion, TestAgent
from .captures import CapturedConversation
from .integrations import Handler, Integration, TestCase
from .outbox import Claim, OutboxDeadRow, OutboxRow
from .runs import ResultPhase, Run, RunCase, RunEventRow, TestResult

__all__ = [
    "Account",
    "ApiKey",
    "CapturedConversation",
    "Claim",
    "CompareRun",
    "Handler",
    "Integration",
    "OutboxDeadRow",
    "OutboxRow",
    "PromptVersion",
    "ResultPhase",
    "Run",
    "RunCase",
    "RunEventRow",
    "TestAgent",
    "TestCase",
    "TestResult",
]
