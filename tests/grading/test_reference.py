from __future__ import annotations

from typing import Any

import pytest

from proctor_grading.reference import check_reference, reference_problems
from tests.grading.build import case, context

MULTI = {
    "kind": "scripted_multi",
    "messages": [
        {"role": "user", "content": "Привіт"},
        {"role": "assistant", "content": "Рамосу вітає"},
        {"role": "user", "content": "Двічі списали гроші"},
    ],
}
ASSERTIONS: tuple[dict[str, Any], ...] = (
    {"kind": "contains", "value": "RAMOSU", "scope": "first_agent_msg"},
    {"kind": "not_contains", "value": "Рамосу"},
    {"kind": "tool_call", "toolName": "refund"},
    {"kind": "outcome", "field": "department", "equals": "billing"},
    {"kind": "latency", "maxMs": 10},
    {"kind": "cost", "maxCents": 1},
    {"kind": "judge", "rubric": "Чемно"},
    {"kind": "state", "expect": [{"entity": "refund"}]},
    {"kind": "recovery", "expect": "retry"},
)
GOOD = {
    "messages": [
        {"content": "Вітаємо в RAMOSU"},
        {"content": "Повертаємо", "toolCalls": [{"name": "refund", "args": {"id": 1}}]},
    ],
    "outcomes": {"department": "billing"},
}


def failing(**fields: Any) -> list[str]:
    return [
        result.kind for result in check_reference(case(*ASSERTIONS, **fields), context(tools_captured=False))
    ]


def test_a_good_reference_passes_what_can_be_told_from_it() -> None:
    assert failing(input=MULTI, reference=GOOD) == []


def test_a_case_without_reference_has_nothing_to_prove() -> None:
    assert failing(input=MULTI) == []


def test_a_reference_that_breaks_its_own_case_is_told_per_assertion() -> None:
    bad = {"messages": [{"content": "Рамосу"}]}
    assert failing(reference=bad) == ["contains", "not_contains", "tool_call", "outcome", "state"]


def test_a_prompt_that_is_not_known_yet_does_not_spoil_a_reference() -> None:
    checked = case({"kind": "no_prompt_leak"}, reference={"messages": [{"content": "Вітаю"}]})
    assert check_reference(checked, context(prompt="")) == ()


def test_replies_follow_the_users_messages_in_turn() -> None:
    late = {
        "messages": [{"content": "Хвилинку"}, {"content": "RAMOSU"}],
        "outcomes": {"department": "billing"},
    }
    assert failing(input=MULTI, reference=late) == ["contains", "tool_call", "state"]


CALLS = {"messages": [{"content": "Готово", "toolCalls": [{"name": "refund", "args": {"id": 7}}]}]}


@pytest.mark.parametrize(
    ("assertion", "told"),
    [
        ({"kind": "tool_args", "toolName": "refund", "args": {"id": 8}}, "id"),
        ({"kind": "tool_sequence", "mode": "exact", "steps": [{"toolName": "find"}]}, "find"),
        ({"kind": "tool_policy", "deny": ["ref*"]}, "refund"),
        ({"kind": "precedes", "before": {"agentText": "Так"}, "after": {"toolName": "refund"}}, "refund"),
        ({"kind": "json_schema", "schema": {"type": "object"}}, "JSON"),
        ({"kind": "lang", "expected": "en"}, "en"),
        ({"kind": "grounded_facts", "threshold": 1, "ref": "no inventions"}, "42"),
    ],
)
def test_every_deterministic_kind_is_asked_and_named(assertion: dict[str, Any], told: str) -> None:
    reference = {
        "messages": [{"content": "Готово за 42 дні", "toolCalls": CALLS["messages"][0]["toolCalls"]}]
    }
    checked = case({"kind": "contains", "value": "Готово"}, assertion, reference=reference)
    (found,) = reference_problems(checked, context())
    assert found.path == "assertions.1"
    assert f"({assertion['kind']}" in found.message
    assert assertion.get("ref", "") in found.message
    assert told in found.message


def test_a_reference_that_calls_no_tool_writes_nothing() -> None:
    wanted = {"kind": "state", "expect": [{"entity": "refund"}]}
    words = {"messages": [{"content": "Повертаємо"}]}
    (found,) = reference_problems(case(wanted, reference=words), context())
    assert "refund" in found.message
    untouched = {"kind": "state", "noOtherWrites": True}
    assert reference_problems(case(untouched, reference=words), context()) == []


def test_a_reference_keeps_the_limit_of_calls_and_no_other_limit_is_asked_of_it() -> None:
    budget = {"maxToolCalls": 0, "maxLatencyMs": 1, "maxCostCents": 0.01, "maxTokens": 1}
    wanted = {"kind": "contains", "value": "Готово"}
    (found,) = reference_problems(case(wanted, reference=CALLS, budget=budget), context())
    assert found.path == "budget.maxToolCalls"
    roomy = {**budget, "maxToolCalls": 1}
    assert reference_problems(case(wanted, reference=CALLS, budget=roomy), context()) == []
