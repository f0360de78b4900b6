"""Every table."""

from .accounts import Account, ApiKey
from .captures import CapturedConversation
from .integrations import Handler, Integration, TestCase
from .outbox import Claim, OutboxDeadRow, OutboxRow
from .runs import ResultPhase, Run, RunCase, RunEventRow, TestResult

__all__ = [
    "Account",
    "ApiKey",
    "CapturedConversation",
    "Claim",
    "Handler",
    "Integration",
    "OutboxDeadRow",
    "OutboxRow",
    "ResultPhase",
    "Run",
    "RunCase",
    "RunEventRow",
    "TestCase",
    "TestResult",
]
