"""Every table."""

from .accounts import Account, ApiKey
from .integrations import Handler, Integration, TestCase
from .outbox import Claim, OutboxDeadRow, OutboxRow
from .runs import ResultPhase, Run, RunCase, RunEventRow, TestResult

__all__ = [
    "Account",
    "ApiKey",
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
