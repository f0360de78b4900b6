from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from proctor_contracts.results import Verdict
from tests.grading.build import assertion, call, check, context, holds, turn, user

MADE = turn(
    call("search.products", {"q": "акне", "page": 1}),
    call("search.products", {"page": 1.0, "q": "акне"}),
    call("search.orders", {"q": "акне"}),
    call("check_stock", {"id": 1}, error="timeout"),
)


@pytest.mark.parametrize(
    ("rules", "passes"),
    [
        ({"allow": ["search.*", "check_stock"]}, True),
        ({"allow": ["*"]}, True),
        ({"allow": ["search.*"]}, False),
        ({"allow": ["search.?rders", "search.products", "check_*"]}, True),
        ({"deny": ["delete.*"]}, True),
        ({"deny": ["*_stock"]}, False),
        ({"allow": ["*"], "deny": ["search.orders"]}, False),
        ({"maxCalls": 4}, True),
        ({"maxCalls": 3}, False),
        ({"maxCalls": 0}, False),
        ({"maxPerTool": {"search.*": 2}}, True),
        ({"maxPerTool": {"search.*": 1}}, False),
        ({"maxPerTool": {"search.orders": 1, "delete.*": 0}}, True),
        ({"maxPerTool": {"check_stock": 0}}, False),
        ({"maxRepeatSameArgs": 1}, False),
        ({"maxRepeatSameArgs": 2}, True),
    ],
)
def test_rules_bound_what_may_be_called_and_how_often(rules: dict[str, Any], *, passes: bool) -> None:
    assert holds(assertion("tool_policy", **rules), *MADE) is passes


def test_every_breach_is_told() -> None:
    found = check(
        assertion("tool_policy", allow=["search.*"], deny=["search.orders"], maxCalls=2, maxRepeatSameArgs=1),
        *MADE,
    )
    assert (found.verdict, found.code) == (Verdict.FAILED, "tool_denied")
    assert found.message == (
        "search.orders is denied by search.orders; check_stock is not allowed; 4 calls, allowed are 2; "
        'search.products({"page":1,"q":"акне"}) was called 2 times, allowed are 1'
    )
    assert found.details is not None
    assert [breach["code"] for breach in found.details["breaches"]] == [
        "tool_denied",
        "tool_not_allowed",
        "too_many_calls",
        "repeated_call",
    ]
    assert found.seen is not None
    assert "check_stock" in found.seen


def test_equal_calls_have_equal_values_not_equal_spelling() -> None:
    wanted = assertion("tool_policy", maxRepeatSameArgs=1)
    assert not holds(wanted, *turn(call("t"), call("t", {})))
    assert holds(wanted, *turn(call("t", {"a": 1}), call("t", {"a": True}), call("u", {"a": 1})))
    assert holds(wanted, *turn(call("t", {"a": 1}), call("t", {"a": "1"})))


def test_names_are_compared_in_one_form_and_letter_case_counts() -> None:
    assert holds(assertion("tool_policy", allow=["знайти.їжу"]), *turn(call("знайти.і\u0308жу")))
    assert not holds(assertion("tool_policy", allow=["Search"]), *turn(call("search")))


def test_a_policy_without_rules_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least one of allow"):
        assertion("tool_policy")
    with pytest.raises(ValidationError):
        assertion("tool_policy", allow=[])


def test_calls_of_the_tester_do_not_count() -> None:
    said = user().model_copy(update={"tool_calls": (call("delete.user"),)})
    assert holds(assertion("tool_policy", deny=["*"]), said, turn()[1])


def test_without_capture_it_is_not_decided_and_silence_fails() -> None:
    wanted = assertion("tool_policy", deny=["*"])
    assert check(wanted, "Так", known=context(tools_captured=False)).verdict is Verdict.UNRESOLVED
    assert check(wanted, user()).code == "no_agent_message"
