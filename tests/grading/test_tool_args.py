from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from proctor_contracts.results import Verdict
from proctor_grading.context import RegexLimit
from tests.grading.build import assertion, call, check, context, holds, turn

TWO = turn(call("refund", {"id": "A-1", "amount": 900}), call("refund", {"id": "A-2", "amount": 850}))


@pytest.mark.parametrize(
    ("which", "amount", "passes"),
    [
        ("any", 850, True),
        ("any", {"gte": 1000}, False),
        ("all", 850, False),
        ("all", {"gte": 850, "lte": 900}, True),
        ("first", 900, True),
        ("first", 850, False),
        ("last", 850, True),
        ("last", 900, False),
    ],
)
def test_some_every_the_first_or_the_last_call_has_the_arguments(
    which: str, amount: Any, *, passes: bool
) -> None:
    assert (
        holds(assertion("tool_args", toolName="refund", args={"amount": amount}, which=which), *TWO) is passes
    )


def test_a_failure_shows_the_call_that_comes_closest() -> None:
    found = check(
        assertion("tool_args", toolName="refund", args={"id": "A-2", "amount": 800, "note": "x"}), *TWO
    )
    assert (found.verdict, found.code) == (Verdict.FAILED, "args_differ")
    assert found.message == (
        "refund was called 2 times, but call 2 of 2: amount is 850, expected 800; "
        'note is missing, expected "x"'
    )
    assert found.details == {
        "calls": 2,
        "call": 2,
        "differences": [
            {"path": "amount", "expected": "800", "seen": "850"},
            {"path": "note", "expected": '"x"', "seen": "missing"},
        ],
    }
    assert found.where is not None
    assert found.where.entry == 1


def test_a_failure_of_every_call_shows_the_first_that_differs() -> None:
    found = check(assertion("tool_args", toolName="refund", args={"amount": 900}, which="all"), *TWO)
    assert "call 2 of 2: amount is 850, expected 900" in found.message


def test_an_argument_too_many_is_named() -> None:
    found = check(
        assertion("tool_args", toolName="t", args={"a": 1}, match="exact"), *turn(call("t", {"a": 1, "b": 2}))
    )
    assert found.message == "t was called once, but b is 2, which is not expected"


def test_a_tool_that_was_not_called_fails_and_the_calls_are_named() -> None:
    for which in ("any", "all", "first", "last"):
        found = check(assertion("tool_args", toolName="close", args={"a": 1}, which=which), *TWO)
        assert (found.verdict, found.code) == (Verdict.FAILED, "tool_not_called")
        assert found.seen is not None
        assert "refund" in found.seen


def test_failed_calls_count_and_names_with_dots_are_not_confused() -> None:
    made = turn(call("escalation.payment", {"a": 1}, error="timeout"), call("escalation_payment", {"a": 2}))
    assert holds(assertion("tool_args", toolName="escalation.payment", args={"a": 1}, which="all"), *made)
    assert not holds(assertion("tool_args", toolName="escalation.payment", args={"a": 2}), *made)


def test_numbers_booleans_null_and_absent_arguments() -> None:
    made = turn(call("t", {"qty": 2.0, "vip": True, "note": None}))

    def passes(**args: Any) -> bool:
        return holds(assertion("tool_args", toolName="t", args=args), *made)

    assert passes(qty={"regex": "^2$"}, vip={"regex": "^true$"})
    assert passes(qty=2, vip=True)
    assert not passes(vip=1)
    assert not passes(vip="true")
    assert not passes(note={"regex": ".*"})
    assert not passes(gone={"regex": ".*"})
    assert passes(note={"absent": True}, gone={"absent": True})
    assert not passes(note={"any": True})


def test_no_arguments_can_be_asked_for() -> None:
    wanted = assertion("tool_args", toolName="t", args={}, match="exact")
    assert holds(wanted, *turn(call("t")))
    assert holds(wanted, *turn(call("t", args_raw="{}")))
    assert not holds(wanted, *turn(call("t", {"a": None})))
    with pytest.raises(ValidationError, match="args is empty"):
        assertion("tool_args", toolName="t", args={})


def test_arguments_reported_as_text_are_read() -> None:
    assert holds(
        assertion("tool_args", toolName="t", args={"a.0": 1}), *turn(call("t", args_raw='{"a": [1]}'))
    )
    assert not holds(assertion("tool_args", toolName="t", args={"a": 1}), *turn(call("t", args_raw='{"a": ')))


class Slow:
    def search(self, *_: str) -> RegexLimit:
        return RegexLimit("regex_timeout", "slow")

    def problem(self, *_: str) -> None:
        return None


@pytest.mark.parametrize(
    ("which", "args", "verdict"),
    [
        ("any", {"id": {"regex": "x"}}, Verdict.UNRESOLVED),
        ("all", {"id": {"regex": "x"}}, Verdict.UNRESOLVED),
        ("any", {"id": {"regex": "x"}, "amount": 1}, Verdict.FAILED),
        ("all", {"id": {"regex": "x"}, "amount": 900}, Verdict.FAILED),
        ("last", {"id": {"regex": "x"}, "amount": 850}, Verdict.UNRESOLVED),
    ],
)
def test_a_pattern_without_an_answer_leaves_open_only_what_nothing_else_settles(
    which: str, args: dict[str, Any], verdict: Verdict
) -> None:
    found = check(
        assertion("tool_args", toolName="refund", args=args, which=which), *TWO, known=context(regex=Slow())
    )
    assert found.verdict is verdict
    assert found.code == ("regex_timeout" if verdict is Verdict.UNRESOLVED else "args_differ")


def test_without_capture_it_is_not_decided_and_silence_fails() -> None:
    wanted = assertion("tool_args", toolName="t", args={"a": {"absent": True}})
    assert check(wanted, "Так", known=context(tools_captured=False)).code == "no_tool_capture"
    assert check(wanted, turn(text="")[0]).code == "no_agent_message"
