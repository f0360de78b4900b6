"""What the bot can look up and do: the shop's orders, invoices, help articles and tickets, kept in memory."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BackOffice", "ToolLog"]

INVOICES = [
    {"id": "INV-2041", "date": "2026-05-03", "item": "Lantern Plus", "amount": "149 UAH"},
    {"id": "INV-2042", "date": "2026-05-03", "item": "Lantern Plus", "amount": "149 UAH"},
]
ORDERS: dict[str, dict[str, Any]] = {
    "A-1001": {"status": "in_transit", "carrier": "Nova Poshta", "expected": "2026-06-05"},
    "A-1002": {"status": "delivered", "carrier": "Ukrposhta", "expected": "2026-05-20"},
    "A-1003": {"status": "awaiting_payment", "carrier": None, "expected": None},
}
ARTICLES = {
    "password-reset": "Profile > Security > Reset password. A link comes by e-mail and works for 30 minutes.",
    "change-email": "Profile > Contacts > Change e-mail. Confirm the new address with the code sent to it.",
    "plans": "Lantern Plus: 149 UAH a month. The first 14 days are free. Cancel at any time.",
    "delivery": "Nova Poshta: 2-3 days, 75 UAH. Ukrposhta: 4-7 days, 45 UAH. Free above 1000 UAH.",
    "late-delivery": "Apologise, give the date from the order. A manager decides about any compensation.",
    "payment-methods": "Visa, Mastercard, Apple Pay and Google Pay; cash on delivery with Nova Poshta.",
    "returns": "Unopened goods can be sent back within 14 days. Money comes back to the same card in 5 days.",
}


@dataclass
class ToolLog:
    """The tool calls of one reply, in order, as the bot reports them."""

    calls: list[dict[str, Any]] = field(default_factory=list)

    def record(self, name: str, args: dict[str, Any], result: Any) -> Any:
        """Note one call and hand its result back."""
        self.calls.append({"name": name, "args": args, "result": result})
        return result


class BackOffice:
    """The tools; safe to use from several threads."""

    def __init__(self) -> None:
        self._numbers = itertools.count(7001)
        self._lock = threading.Lock()

    def lookup_invoices(self, log: ToolLog) -> list[dict[str, str]]:
        """The customer's invoices."""
        result = log.record("lookup_invoices", {"customer": "current"}, INVOICES)
        return list(result)

    def create_refund_ticket(self, log: ToolLog, *, invoice: str, reason: str) -> str:
        """Open a refund ticket and return its number."""
        ticket = self._next("RF")
        log.record("create_refund_ticket", {"invoice": invoice, "reason": reason}, {"ticket": ticket})
        return ticket

    def check_order_status(self, log: ToolLog, *, order: str) -> dict[str, Any] | None:
        """Where an order is; None when there is no such order."""
        found = ORDERS.get(order)
        log.record("check_order_status", {"order": order}, found or {"error": "not_found"})
        return found

    def cancel_order(self, log: ToolLog, *, order: str) -> None:
        """Cancel an order that has not been sent."""
        log.record("cancel_order", {"order": order}, {"cancelled": True})

    def get_help_article(self, log: ToolLog, *, topic: str) -> str:
        """The text of a help article."""
        return str(log.record("get_help_article", {"topic": topic}, ARTICLES[topic]))

    def escalate_to_human(self, log: ToolLog, *, reason: str) -> str:
        """Hand the conversation to a person and return the request's number."""
        request = self._next("H")
        log.record("escalate_to_human", {"reason": reason}, {"request": request})
        return request

    def close_conversation(self, log: ToolLog) -> None:
        """Mark the conversation as finished."""
        log.record("close_conversation", {}, {"closed": True})

    def _next(self, prefix: str) -> str:
        with self._lock:
            return f"{prefix}-{next(self._numbers)}"
