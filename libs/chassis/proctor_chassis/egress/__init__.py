"""What may leave this process: one pure decision, and the door that every outgoing request goes through."""

from __future__ import annotations

from .policy import Allowed, Refused, Target, check_url, decide, parse_target
from .rules import Operator, PublicOnly, Rules

__all__ = [
    "Allowed",
    "Operator",
    "PublicOnly",
    "Refused",
    "Rules",
    "Target",
    "check_url",
    "decide",
    "parse_target",
]
