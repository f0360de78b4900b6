from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from proctor_contracts.effects import Effect
from proctor_contracts.results import AssertionResult, Verdict
from proctor_grading.context import RegexLimit
from tests.grading.build import assertion, call, check, context, turn, user, write

TALK = turn(call("find_order"), call("create_refund"), call("create_ticket"))
REFUND = write(
    "refund",
    {"orderId": "A-1", "amount": 850},
    key="A-1",
    record={"orderId": "A-1", "amount": 850, "id": "dry-refund-1"},
    call=2,
)
TICKET = write("ticket", {"dept": "billing"}, call=3)


def graded(*effects: Effect, known: Any = None, **fields: Any) -> AssertionResult:
    ledger = known or context(effects=effects)
    return check(assertion("state", **fields), *TALK, known=ledger)


@pytest.mark.parametrize(
    ("expect", "passes"),
    [
        ({"entity": "refund"}, True),
        ({"entity": "Refund", "count": 1}, True),
        ({"entity": "refund", "count": 0}, False),
        ({"entity": "refund", "count": {"lte": 1}}, True),
        ({"entity": "refund", "count": {"in": [2, 3]}}, False),
        ({"entity": "delivery", "count": 0}, True),
        ({"entity": "delivery"}, False),
        ({"entity": "refund", "count": 1, "where": {"amount": {"lte": 850}}}, True),
        ({"entity": "refund", "count": 1, "where": {"amount": 900}}, False),
        ({"entity": "refund", "count": 0, "where": {"amount": {"gte": 900}}}, True),
        ({"entity": "refund", "where": {"id": {"regex": "^dry-"}, "key": "A-1"}}, True),
        ({"entity": "refund", "action": "create"}, True),
        ({"entity": "refund", "action": "delete"}, False),
        ({"entity": "ticket", "where": {"dept": "billing"}}, True),
    ],
)
def test_writes_are_counted_by_entity_and_fields(expect: dict[str, Any], *, passes: bool) -> None:
    assert graded(REFUND, TICKET, expect=[expect]).passed is passes


def test_two_ways_to_the_same_writes_both_pass() -> None:
    wanted: dict[str, Any] = {
        "expect": [{"entity": "refund", "count": 1}, {"entity": "ticket", "count": 1}],
        "noOtherWrites": True,
    }
    assert graded(REFUND, TICKET, **wanted).passed is True
    assert graded(TICKET, REFUND, **wanted).passed is True


def test_a_double_refund_fails_and_shows_the_ledger() -> None:
    again = REFUND.model_copy(update={"call": 3})
    found = graded(REFUND, again, expect=[{"entity": "refund", "count": 1}])
    assert (found.verdict, found.code) == (Verdict.FAILED, "state_differs")
    assert found.message == "write of refund: made 2 times, expected 1"
    assert found.seen == (
        'create refund A-1 {"orderId":"A-1","amount":850} (call 2); '
        'create refund A-1 {"orderId":"A-1","amount":850} (call 3)'
    )
    assert found.where is not None
    assert found.where.entry == 1
    assert found.details is not None
    assert found.details["counts"] == [2]


def test_a_missing_write_says_what_the_nearest_one_lacks() -> None:
    found = graded(REFUND, expect=[{"entity": "refund", "where": {"amount": 900, "orderId": "A-1"}}])
    assert found.message == (
        'write of refund with amount: 900, orderId: "A-1": never made, expected a number from 1 '
        "(call 2: amount is 850, expected 900)"
    )
    assert graded(expect=[{"entity": "refund"}]).seen == "no writes"


def test_writes_that_failed_and_reads_do_not_count() -> None:
    failed = REFUND.model_copy(update={"failed": True})
    read = write("refund", action="read")
    assert graded(failed, read, noOtherWrites=True).passed is True
    assert graded(failed, expect=[{"entity": "refund"}]).passed is False


def test_a_write_that_no_expectation_names_is_one_too_many() -> None:
    wanted: dict[str, Any] = {"expect": [{"entity": "refund"}], "noOtherWrites": True}
    found = graded(REFUND, TICKET, **wanted)
    assert (found.verdict, found.code) == (Verdict.FAILED, "unexpected_write")
    assert found.message == 'not expected: create ticket {"dept":"billing"} (call 3)'
    assert graded(REFUND, **wanted).passed is True
    assert graded(noOtherWrites=True).passed is True
    assert graded(TICKET, noOtherWrites=True).passed is False


def test_a_deleted_record_is_seen_by_its_arguments() -> None:
    gone = write("booking", {"id": "B-7"}, action="delete", key="B-7", record=None)
    wanted = {"entity": "booking", "action": "delete", "count": 1, "where": {"id": "B-7"}}
    assert graded(gone, expect=[wanted]).passed is True


@pytest.mark.parametrize("fields", [{"expect": [{"entity": "x", "count": 0}]}, {"noOtherWrites": True}])
def test_without_a_ledger_neither_polarity_is_decided(fields: dict[str, Any]) -> None:
    found = graded(known=context(effects=None), **fields)
    assert (found.verdict, found.code) == (Verdict.UNRESOLVED, "no_effect_ledger")


def test_an_agent_that_did_nothing_at_all_does_not_pass() -> None:
    found = check(assertion("state", noOtherWrites=True), user(), known=context(effects=()))
    assert (found.verdict, found.code) == (Verdict.FAILED, "no_agent_message")


class Slow:
    def search(self, *_: str) -> RegexLimit:
        return RegexLimit("regex_timeout", "slow")

    def problem(self, *_: str) -> None:
        return None


def test_a_pattern_without_an_answer_leaves_open_only_counts_it_could_change() -> None:
    def verdict(count: Any, *effects: Effect, **fields: Any) -> Verdict:
        expect = [{"entity": "refund", "count": count, "where": {"orderId": {"regex": "x"}}}]
        known = context(regex=Slow(), effects=effects)
        return graded(known=known, expect=expect, **fields).verdict

    assert verdict(1, REFUND) is Verdict.UNRESOLVED
    assert verdict({"lte": 1}, REFUND) is Verdict.PASSED
    assert verdict(2, REFUND) is Verdict.FAILED
    assert verdict({"lte": 1}, REFUND, noOtherWrites=True) is Verdict.UNRESOLVED
    assert verdict({"lte": 1}, REFUND, TICKET, noOtherWrites=True) is Verdict.FAILED


@pytest.mark.parametrize(
    "count", [-1, 1.5, True, "1", {"in": [1, -1]}, {"lte": -1}, {"regex": "1"}, {"any": True}]
)
def test_a_count_that_nothing_can_meet_is_refused(count: Any) -> None:
    with pytest.raises(ValidationError, match="whole number"):
        assertion("state", expect=[{"entity": "x", "count": count}])


def test_a_state_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="noOtherWrites"):
        assertion("state")


def test_a_ledger_that_counts_calls_nobody_recorded_has_no_place() -> None:
    found = graded(write("refund", call=99), noOtherWrites=True)
    assert (found.passed, found.where) == (False, None)
