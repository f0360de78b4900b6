"""The one workload: N single-turn cases, all distinct, each with one `contains` and one `regex`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["REGEX", "order", "question", "write_suite"]

REGEX = r"\[ref:[0-9a-f]{8}\]"
RUBRIC = "The answer names the order that the customer asked about."


def order(number: int) -> str:
    """The order of a case."""
    return f"ORD-{number:06d}"


def question(number: int) -> str:
    """What the customer asks."""
    return f"Case {number}: what is the status of order {order(number)}?"


def write_suite(
    path: Path,
    *,
    url: str,
    count: int,
    concurrency: int,
    judge: bool = False,
    provider: str = "http",
    tools: bool = False,
) -> None:
    """Write the suite file of a run against the stub; with tools the model calls one, three times a case."""
    integration: dict[str, Any] = {"name": "stub", "provider": provider, "model": "gpt-4o-mini"}
    if provider == "http":
        integration["endpoint"] = {
            "url": f"{url}/v1/chat/completions",
            "body": {"model": "gpt-4o-mini", "messages": "{{messages}}"},
            "replyPath": "$.choices[0].message.content",
        }
    cases = []
    for number in range(count):
        assertions: list[dict[str, Any]] = [
            {"kind": "contains", "value": order(number)},
            {"kind": "regex", "pattern": REGEX},
        ]
        if judge:
            assertions.append({"kind": "judge", "rubric": RUBRIC})
        cases.append(
            {
                "ref": f"B-{number}",
                "name": f"Order {number}",
                "category": "orders",
                "input": {"kind": "scripted_single", "message": question(number)},
                "assertions": assertions,
            }
        )
    run: dict[str, Any] = {"concurrency": concurrency}
    if tools:
        integration["handlers"] = [
            {"name": "find_order", "url": f"{url}/tools/find", "body": {"order": "A"}, "isSideEffect": False}
        ]
        run["runner"] = "gateway"
    suite: dict[str, Any] = {"integration": integration, "run": run, "cases": cases}
    if judge:
        suite["judge"] = {"provider": "openai", "model": "gpt-4o-mini"}
    path.write_text(json.dumps(suite))
