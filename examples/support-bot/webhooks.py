"""The shop's tools as webhooks, the way a deployed integration has them; every call is logged.

`GET /log` tells what was called and what was written; a dry run must leave it without a write.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from backoffice import BackOffice, ToolLog
from jsonhttp import Answer, Question, serve

__all__ = ["Webhooks", "main"]

WRITES = {"create_refund_ticket", "cancel_order", "escalate_to_human"}
PATHS = {
    "/orders/status": "check_order_status",
    "/refunds/find": "find_refund_ticket",
    "/help/article": "get_help_article",
}
"""Where tools answer beside `/<integration>/webhook/<tool>`, which all of them do."""


class Webhooks:
    """The tools with what they have written so far; safe to use from several threads."""

    def __init__(self) -> None:
        self._office = BackOffice()
        self._lock = threading.Lock()
        self._tickets: dict[str, list[str]] = {}
        self._cancelled: set[str] = set()
        self.calls: list[dict[str, Any]] = []

    @property
    def writes(self) -> int:
        """How often something was written."""
        return sum(call["tool"] in WRITES for call in self.calls)

    def answer(self, question: Question) -> Answer:
        """Call the tool that the path names."""
        if question.path == "/log":
            return 200, {"calls": self.calls, "writes": self.writes}
        named = question.names[-1] if question.names[-2:-1] == ["webhook"] else ""
        tool = getattr(self, f"_{PATHS.get(question.path, named)}", None)
        if tool is None or not (named or question.path in PATHS):
            return 404, {"error": "there is no such tool"}
        name = tool.__name__.removeprefix("_")
        with self._lock:
            self.calls.append({"tool": name, "args": question.args})
            try:
                return 200, tool(question.args)
            except (KeyError, TypeError):
                return 422, {"error": f"{name} needs other arguments"}

    def _lookup_invoices(self, _args: dict[str, Any]) -> Any:
        return {"invoices": self._office.lookup_invoices(ToolLog())}

    def _create_refund_ticket(self, args: dict[str, Any]) -> Any:
        ticket = self._office.create_refund_ticket(ToolLog(), invoice=args["invoice"], reason=args["reason"])
        self._tickets.setdefault(args["invoice"], []).append(ticket)
        return {"ticket": ticket, "invoice": args["invoice"]}

    def _find_refund_ticket(self, args: dict[str, Any]) -> Any:
        tickets = self._tickets.get(args["invoice"], [])
        return {"found": bool(tickets), "invoice": args["invoice"], "tickets": tickets}

    def _check_order_status(self, args: dict[str, Any]) -> Any:
        found = self._office.check_order_status(ToolLog(), order=args["order"])
        if found is None:
            return {"found": False, "order": args["order"]}
        status = "cancelled" if args["order"] in self._cancelled else found["status"]
        return {**found, "order": args["order"], "status": status}

    def _cancel_order(self, args: dict[str, Any]) -> Any:
        self._office.cancel_order(ToolLog(), order=args["order"])
        self._cancelled.add(args["order"])
        return {"cancelled": True, "order": args["order"]}

    def _get_help_article(self, args: dict[str, Any]) -> Any:
        return {"topic": args["topic"], "text": self._office.get_help_article(ToolLog(), topic=args["topic"])}

    def _escalate_to_human(self, args: dict[str, Any]) -> Any:
        return {"request": self._office.escalate_to_human(ToolLog(), reason=args["reason"])}


def main() -> int:
    """Serve where a run looks for relative handlers by default."""
    return serve("The shop's tools as webhooks.", Webhooks().answer, port=3010)


if __name__ == "__main__":
    sys.exit(main())
