from __future__ import annotations

from typing import Any

import pytest

from proctor_contracts.cases import CaseBudget
from proctor_contracts.results import Verdict
from proctor_contracts.transcript import Usage
from proctor_grading.engine import budget_results
from tests.grading.build import agent, assertion, call, check, context, holds, user

TURNS = (
    user(),
    agent("а", latency_ms=100, ttft_ms=10),
    agent("б"),
    user(),
    agent("в", latency_ms=300, ttft_ms=40),
)


@pytest.mark.parametrize(
    ("metric", "limit", "passes"),
    [
        ("max", 300, True),
        ("max", 299, False),
        ("total", 400, True),
        ("total", 399, False),
        ("p95", 300, True),
        ("p95", 299, False),
        ("ttft", 40, True),
        ("ttft", 39, False),
    ],
)
def test_latency_by_metric(metric: str, limit: int, *, passes: bool) -> None:
    assert holds(assertion("latency", maxMs=limit, metric=metric), *TURNS) is passes


def test_a_slow_turn_is_pointed_at() -> None:
    found = check(assertion("latency", maxMs=200), *TURNS)
    assert found.code == "too_slow"
    assert found.seen == "300 ms"
    assert found.where is not None
    assert found.where.entry == 4


@pytest.mark.parametrize(
    ("metric", "first", "verdict"),
    [
        ("max", 50, Verdict.UNRESOLVED),
        ("max", 500, Verdict.FAILED),
        ("total", 500, Verdict.FAILED),
        ("p95", 500, Verdict.UNRESOLVED),
        ("ttft", 50, Verdict.UNRESOLVED),
    ],
)
def test_missing_times_leave_open_what_they_could_change(metric: str, first: int, verdict: Verdict) -> None:
    half_timed = (user(), agent("а", latency_ms=first), user(), agent("б"))
    found = check(assertion("latency", maxMs=100, metric=metric), *half_timed)
    assert found.verdict is verdict
    if verdict is Verdict.UNRESOLVED:
        assert found.code == "no_timing"


@pytest.mark.parametrize(
    ("cost", "limit", "verdict"),
    [
        (10_000, 1, Verdict.PASSED),
        (10_001, 1, Verdict.FAILED),
        (1_000, 0.1, Verdict.PASSED),
        (3_000, 0.3, Verdict.PASSED),
        (None, 1, Verdict.UNRESOLVED),
    ],
)
def test_cost_is_compared_exactly(cost: int | None, limit: float, verdict: Verdict) -> None:
    found = check(assertion("cost", maxCents=limit), "так", known=context(cost_micro_usd=cost))
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("usage", "verdict"),
    [
        (Usage(prompt_tokens=60, cached_prompt_tokens=30, completion_tokens=10), Verdict.PASSED),
        (Usage(prompt_tokens=60, cached_prompt_tokens=30, completion_tokens=11), Verdict.FAILED),
        (Usage(), Verdict.UNRESOLVED),
        (None, Verdict.UNRESOLVED),
    ],
)
def test_tokens_are_counted_however_priced(usage: Usage | None, verdict: Verdict) -> None:
    found = check(assertion("cost", maxTokens=100), "так", known=context(usage=usage))
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("wanted", "reported", "passes"),
    [
        ({"equals": "billing"}, "billing", True),
        ({"equals": "billing"}, "Billing", False),
        ({"in": ["billing", "account"]}, "account", True),
        ({"equals": 1}, 1.0, True),
        ({"equals": 1}, True, False),
        ({"equals": True}, True, True),
        ({"equals": None}, None, True),
        ({"equals": {"a": [1]}}, {"a": [1]}, True),
        ({"equals": "й"}, "и\u0306", True),
    ],
)
def test_an_outcome_is_compared_by_value(wanted: dict[str, Any], reported: object, *, passes: bool) -> None:
    known = context(outcomes={"department": reported})
    assert holds(assertion("outcome", field="department", **wanted), "так", known=known) is passes


def test_an_outcome_that_is_not_reported_fails_and_says_what_was() -> None:
    found = check(
        assertion("outcome", field="department", equals="x"), "так", known=context(outcomes={"a": 1})
    )
    assert (found.code, found.seen) == ("outcome_missing", '{"a":1}')


def test_a_budget_adds_required_checks_that_weigh_nothing() -> None:
    budget = CaseBudget(max_latency_ms=200, max_cost_cents=1, max_tokens=10, max_tool_calls=0)
    known = context(cost_micro_usd=10_000, usage=Usage(prompt_tokens=11))
    results = budget_results(budget, (*TURNS, user(), agent("г", call("x"), latency_ms=1)), known, start=3)
    assert [(one.index, one.kind, one.verdict.value) for one in results] == [
        (3, "budget_latency", "failed"),
        (4, "budget_cost", "passed"),
        (5, "budget_tokens", "failed"),
        (6, "budget_tool_calls", "failed"),
    ]
    assert {(one.required, one.weight) for one in results} == {(True, 0)}


def test_a_budget_without_facts_stays_open() -> None:
    blind = context(tools_captured=False)
    results = budget_results(CaseBudget(max_cost_cents=1, max_tool_calls=1), TURNS, blind, start=0)
    assert [one.code for one in results] == ["unknown_price", "no_tool_capture"]
    assert budget_results(None, TURNS, blind, start=0) == ()
