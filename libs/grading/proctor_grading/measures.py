"""The checks on labels, time and cost, and a case's own budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from proctor_contracts.assertions import Cost, Latency, LatencyMetric, Outcome
from proctor_contracts.cases import CaseBudget

from .calls import without_capture
from .canonical import ABSENT, canonical_json, same_json, value_at
from .context import GradingContext
from .conversation import Conversation
from .findings import Finding, failed, no_agent_message, passed, unresolved
from .statistics import percentile

__all__ = ["budget_findings", "check_cost", "check_latency", "check_outcome", "micro_usd"]

MICRO_USD_PER_CENT = 10_000


def micro_usd(cents: float) -> int:
    """Turn cents as a user wrote them into micro-USD, exactly in decimal."""
    return int(Decimal(str(cents)) * MICRO_USD_PER_CENT)


def check_outcome(check: Outcome, context: GradingContext) -> Finding:
    """A label that the bot reports has the expected value; texts are compared in NFC, numbers by value."""
    allowed = list(check.in_) if check.in_ is not None else [check.equals]
    shown = " or ".join(canonical_json(value) for value in allowed)
    expected = f"{check.field} = {shown}"
    value = value_at(dict(context.outcomes), check.field)
    if value is ABSENT:
        return failed(
            "outcome_missing",
            f"the bot reported no {check.field}",
            expected=expected,
            seen=canonical_json(dict(context.outcomes)),
        )
    if any(same_json(value, other) for other in allowed):
        return passed()
    return failed(
        "outcome_differs",
        f"{check.field} is {canonical_json(value)}, expected {shown}",
        expected=expected,
        seen=canonical_json(value),
    )


def check_latency(check: Latency, conversation: Conversation) -> Finding:
    """The agent's time per user turn is in bounds: slowest, 95th percentile, sum, or slowest first token."""
    expected = f"{check.metric} latency at most {check.max_ms} ms"
    if conversation.silent:
        return no_agent_message(expected)
    times = _times(conversation, first_token=check.metric is LatencyMetric.TTFT)
    value = _measure(check.metric, times.known)
    certain = check.metric is not LatencyMetric.P95 or not times.missing
    if value is not None and certain and value > check.max_ms:
        return failed(
            "too_slow",
            f"{check.metric} latency is {value} ms, allowed are {check.max_ms} ms",
            expected=expected,
            seen=f"{value} ms",
            at=times.slowest,
            details={"ms": value},
        )
    if value is None or times.missing:
        what = "first-token time" if check.metric is LatencyMetric.TTFT else "time"
        return unresolved("no_timing", f"{times.missing} turn(s) carry no {what}", expected=expected)
    return passed(details={"ms": value})


def check_cost(check: Cost, conversation: Conversation, context: GradingContext) -> Finding:
    """The agent's calls of the case cost at most so many cents, or so many tokens."""
    if check.max_cents is not None:
        return _cents(check.max_cents, conversation, context)
    return _tokens(check.max_tokens or 0, conversation, context)


def budget_findings(
    budget: CaseBudget, conversation: Conversation, context: GradingContext
) -> list[tuple[str, Finding]]:
    """Check a case's own budget; each limit set is one (kind, finding)."""
    found: list[tuple[str, Finding]] = []
    if budget.max_latency_ms is not None:
        limit = Latency(max_ms=budget.max_latency_ms)
        found.append(("budget_latency", check_latency(limit, conversation)))
    if budget.max_cost_cents is not None:
        found.append(("budget_cost", _cents(budget.max_cost_cents, conversation, context)))
    if budget.max_tokens is not None:
        found.append(("budget_tokens", _tokens(budget.max_tokens, conversation, context)))
    if budget.max_tool_calls is not None:
        found.append(("budget_tool_calls", _tool_calls(budget.max_tool_calls, conversation, context)))
    return found


def _cents(limit: float, conversation: Conversation, context: GradingContext) -> Finding:
    expected = f"cost at most {limit:g} cents"
    if conversation.silent:
        return no_agent_message(expected)
    cost = context.cost_micro_usd
    if cost is None:
        return unresolved("unknown_price", "the price of the model is not known", expected=expected)
    if cost <= micro_usd(limit):
        return passed(details={"microUsd": cost})
    return failed(
        "too_expensive",
        f"the case cost {cost / MICRO_USD_PER_CENT:g} cents, allowed are {limit:g}",
        expected=expected,
        seen=f"{cost / MICRO_USD_PER_CENT:g} cents",
        details={"microUsd": cost},
    )


def _tokens(limit: int, conversation: Conversation, context: GradingContext) -> Finding:
    expected = f"at most {limit} tokens"
    if conversation.silent:
        return no_agent_message(expected)
    if context.usage is None or context.usage.total == 0:
        return unresolved("no_usage", "the agent reported no token counts", expected=expected)
    total = context.usage.total
    if total <= limit:
        return passed(details={"tokens": total})
    return failed(
        "too_many_tokens",
        f"the case took {total} tokens, allowed are {limit}",
        expected=expected,
        seen=f"{total} tokens",
        details={"tokens": total},
    )


def _tool_calls(limit: int, conversation: Conversation, context: GradingContext) -> Finding:
    expected = f"at most {limit} tool calls"
    if not context.tools_captured:
        return without_capture(context, expected)
    if conversation.silent:
        return no_agent_message(expected)
    count = len(conversation.calls)
    if count <= limit:
        return passed(details={"count": count})
    names = ", ".join(call.record.name for call in conversation.calls[:20])
    return failed(
        "too_many_calls",
        f"{count} tool calls, allowed are {limit}",
        expected=expected,
        seen=names,
        details={"count": count},
    )


@dataclass(frozen=True, slots=True)
class _Times:
    known: Sequence[int]
    missing: int
    slowest: int | None


def _times(conversation: Conversation, *, first_token: bool) -> _Times:
    known: list[int] = []
    missing = 0
    for turn in conversation.turns:
        values = [entry.ttft_ms if first_token else entry.latency_ms for entry in turn]
        value = next((value for value in values if value is not None), None)
        if value is None:
            missing += 1
        else:
            known.append(value)
    slowest = None
    if known:
        top = max(known)
        slowest = next(
            index
            for index, entry in enumerate(conversation.entries)
            if entry.graded and (entry.ttft_ms if first_token else entry.latency_ms) == top
        )
    return _Times(known, missing, slowest)


def _measure(metric: LatencyMetric, times: Sequence[int]) -> int | None:
    if not times:
        return None
    match metric:
        case LatencyMetric.MAX | LatencyMetric.TTFT:
            return max(times)
        case LatencyMetric.TOTAL:
            return sum(times)
        case LatencyMetric.P95:
            return percentile(times, 95)
        case _:
            assert_never(metric)
