"""Every table."""

from .accounts import Account, ApiKey
from .agents import CompareRun, PromptVersion, TestAgent
from .alerts import Alert, AlertDelivery, DeliveryAttempt, RunLook
from .captures import CapturedConversation
from .integrations import Handler, Integration, TestCase
from .outbox import Claim, OutboxDeadRow, OutboxRow
from .runs import ResultPhase, Run, RunCase, RunEventRow, TestResult
from .schedules import Schedule, ScheduleTick

__all__ = [
    "Account",
    "Alert",
    "AlertDelivery",
    "ApiKey",
    "CapturedConversation",
    "Claim",
    "CompareRun",
    "DeliveryAttempt",
    "Handler",
    "Integration",
    "OutboxDeadRow",
    "OutboxRow",
    "PromptVersion",
    "ResultPhase",
    "Run",
    "RunCase",
    "RunEventRow",
    "RunLook",
    "Schedule",
    "ScheduleTick",
    "TestAgent",
    "TestCase",
    "TestResult",
]
