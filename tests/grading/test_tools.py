from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from proctor_contracts.results import Verdict
from tests.grading.build import agent, assertion, call, check, context, holds, user


def turn(*calls: Any) -> tuple[Any, ...]:
    return user(), agent("Готово", *calls)


SEARCHES = turn(
    call("search.products", {"q": "акне"}),
    call("search.products", {"q": "крем"}),
    call("check_stock", {"id": 1}, error="timeout"),
)


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        ({"toolName": "search.products", "maxOccurrence": 1}, False),
        ({"toolName": "search.products", "minOccurrence": 2, "maxOccurrence": 2}, True),
        ({"toolName": "search.products", "minOccurrence": 3}, False),
        ({"toolName": "check_stock"}, True),
        ({"toolName": "search_products"}, False),
        ({"toolName": "delete.user", "mustNotMatch": True}, True),
        ({"toolName": "check_stock", "mustNotMatch": True}, False),
        ({"toolName": "delete.user", "minOccurrence": 0, "maxOccurrence": 0}, True),
        ({"name": "search.products", "argsRegex": {"q": "^крем$"}, "maxOccurrence": 1}, True),
        ({"toolName": "search.products", "argsRegex": "спф", "mustNotMatch": True}, True),
    ],
)
def test_parallel_repeated_and_failed_calls_are_counted(wanted: dict[str, Any], *, passes: bool) -> None:
    assert holds(assertion("tool_call", **wanted), *SEARCHES) is passes


def test_a_failure_names_the_calls_it_saw() -> None:
    found = check(assertion("tool_call", toolName="search.products", maxOccurrence=1), *SEARCHES)
    assert (found.code, found.details) == ("too_many_calls", {"count": 2})
    assert found.message == "search.products was called 2 times"
    assert found.seen is not None
    assert "check_stock" in found.seen
    assert "акне" in found.seen


def test_calls_of_the_tester_do_not_count() -> None:
    said = user().model_copy(update={"tool_calls": (call("delete.user"),)})
    assert holds(assertion("tool_call", toolName="delete.user", mustNotMatch=True), said, agent("Ні"))


def test_a_call_cut_off_by_the_token_limit_never_happened() -> None:
    cut = turn(call("create_refund", {}, error="truncated_tool_call: the model's answer was cut"))
    assert holds(assertion("tool_call", toolName="create_refund", mustNotMatch=True), *cut)
    assert not holds(assertion("tool_call", toolName="create_refund"), *cut)


@pytest.mark.parametrize("must_not_match", [True, False])
@pytest.mark.parametrize("reason", ["no_tool_capture", "tools_not_reported"])
def test_without_capture_neither_polarity_is_decided(reason: str, *, must_not_match: bool) -> None:
    blind = context(tools_captured=False, tools_missing_reason=reason)
    found = check(assertion("tool_call", toolName="x", mustNotMatch=must_not_match), "Так", known=blind)
    assert (found.verdict, found.code) == (Verdict.UNRESOLVED, reason)


@pytest.mark.parametrize(
    ("patterns", "passes"),
    [
        ({"qty": "^2$"}, True),
        ({"vip": "^true$"}, True),
        ({"note": ".*"}, False),
        ({"gone": ".*"}, False),
        ({"qty": "^2$", "vip": "^false$"}, False),
        ({"client.phones.1": "^067"}, True),
        ({"client": '^\\{"phones":\\["050","067"\\]\\}$'}, True),
    ],
)
def test_arguments_by_path_print_as_json(patterns: dict[str, str], *, passes: bool) -> None:
    args = {"qty": 2.0, "vip": True, "note": None, "client": {"phones": ["050", "067"]}}
    assert holds(assertion("tool_call", toolName="t", argsRegex=patterns), *turn(call("t", args))) is passes


@pytest.mark.parametrize(
    ("pattern", "passes"),
    [("RAMOSU", True), ("\\\\u0430кне", True), ("акне", True), ('^\\{"q":"акне"\\}$', True), ("крем", False)],
)
def test_a_string_pattern_reads_raw_text_and_canonical_json(pattern: str, *, passes: bool) -> None:
    made = call("t", {"q": "акне"}, args_raw='{"q": "\\u0430кне"} RAMOSU')
    assert holds(assertion("tool_call", toolName="t", argsRegex=pattern), *turn(made)) is passes


def test_flags_apply_to_argument_patterns() -> None:
    wanted = assertion("tool_call", toolName="t", argsRegex="refund", argsFlags="i")
    assert holds(wanted, *turn(call("t", {"reason": "REFUND"})))


def test_absent_arguments_equal_an_empty_object() -> None:
    assert holds(assertion("tool_call", toolName="t", argsRegex=r"^\{\}$"), *turn(call("t")))
    assert holds(assertion("tool_call", toolName="t", argsRegex=r"^\{\}$"), *turn(call("t", {})))


def test_arguments_reported_as_text_are_read_as_json() -> None:
    wanted = assertion("tool_call", toolName="t", argsRegex={"id": "^7$"})
    assert holds(wanted, *turn(call("t", args_raw='{"id": 7}')))
    assert holds(wanted, *turn(call("t", '{"id": 7.0}')))


@pytest.mark.parametrize("must_not_match", [True, False])
def test_an_invalid_argument_pattern_is_unresolved_in_both_polarities(*, must_not_match: bool) -> None:
    wanted = assertion("tool_call", toolName="t", argsRegex="(", mustNotMatch=must_not_match)
    found = check(wanted, *turn(call("t", {"a": 1})))
    assert (found.verdict, found.code) == (Verdict.UNRESOLVED, "invalid_pattern")


def test_bounds_that_no_count_can_meet_are_refused() -> None:
    with pytest.raises(ValidationError, match="minOccurrence"):
        assertion("tool_call", toolName="t", minOccurrence=3, maxOccurrence=2)
    with pytest.raises(ValidationError, match="minOccurrence"):
        assertion("tool_call", toolName="t", maxOccurrence=0)


def test_a_call_without_words_is_not_silence() -> None:
    assert holds(assertion("tool_call", toolName="escalate"), user(), agent("", call("escalate")))
