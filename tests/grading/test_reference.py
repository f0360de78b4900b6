from __future__ import annotations

from typing import Any

from proctor_grading.reference import check_reference
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
    assert failing(reference=bad) == ["contains", "not_contains", "tool_call", "outcome"]


def test_a_prompt_that_is_not_known_yet_does_not_spoil_a_reference() -> None:
    checked = case({"kind": "no_prompt_leak"}, reference={"messages": [{"content": "Вітаю"}]})
    assert check_reference(checked, context(prompt="")) == ()


def test_replies_follow_the_users_messages_in_turn() -> None:
    late = {
        "messages": [{"content": "Хвилинку"}, {"content": "RAMOSU"}],
        "outcomes": {"department": "billing"},
    }
    assert failing(input=MULTI, reference=late) == ["contains", "tool_call"]
