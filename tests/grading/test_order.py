from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from proctor_contracts.results import Verdict
from proctor_contracts.transcript import SCRIPTED
from tests.grading.build import agent, assertion, call, check, context, user

CONFIRMED = {"userText": "так"}
ASKED = {"agentText": "підтвер[джд]", "flags": "i"}
REFUND = {"toolName": "create_refund"}

GOOD = (
    user("Поверніть гроші"),
    agent("Підтвердьте, будь ласка"),
    user("так"),
    agent("Роблю", call("create_refund"), finish="tool_use"),
    agent("Готово"),
)
HASTY = (
    user("Поверніть гроші"),
    agent("Готово. Підтвердьте", call("create_refund")),
    user("так"),
    agent("Ок"),
)


def verdict(
    before: dict[str, Any], after: dict[str, Any], *entries: Any, **known: Any
) -> tuple[str, str | None]:
    found = check(assertion("precedes", before=before, after=after), *entries, known=context(**known))
    return found.verdict.value, found.code


def test_something_happens_before_something_else() -> None:
    assert verdict(CONFIRMED, REFUND, *GOOD) == ("passed", None)
    assert verdict(ASKED, CONFIRMED, *GOOD) == ("passed", None)
    assert verdict(CONFIRMED, REFUND, *HASTY) == ("failed", "not_preceded")
    assert verdict({"toolName": "verify"}, REFUND, *GOOD) == ("failed", "not_preceded")


def test_a_failure_says_which_came_first_and_where() -> None:
    found = check(assertion("precedes", before=CONFIRMED, after=REFUND), *HASTY)
    assert (
        found.message == "a call of create_refund came first, a user message matching /так/ only afterwards"
    )
    assert found.where is not None
    assert found.where.entry == 1
    never = check(assertion("precedes", before={"toolName": "verify"}, after=REFUND), *GOOD)
    assert never.message == "a call of create_refund came first, a call of verify never"


def test_without_the_later_event_there_is_no_order_to_check() -> None:
    assert verdict(CONFIRMED, {"toolName": "delete"}, *GOOD) == ("not_applicable", "event_missing")
    assert verdict({"toolName": "verify"}, {"toolName": "delete"}, *GOOD) == (
        "not_applicable",
        "event_missing",
    )


def test_every_later_event_has_an_earlier_one_before_the_first() -> None:
    twice = (user(), agent("1", call("refund"), call("verify"), call("refund")))
    assert verdict({"toolName": "verify"}, {"toolName": "refund"}, *twice)[0] == "failed"


def test_one_event_does_not_precede_itself() -> None:
    once = (user(), agent("Підтверджую і повертаю"))
    assert verdict({"agentText": "Підтверджую"}, {"agentText": "повертаю"}, *once)[0] == "failed"


def test_a_reply_comes_after_the_calls_it_reports_and_before_those_it_asks_for() -> None:
    said, made = {"agentText": "Перевіряю"}, {"toolName": "find"}
    asking = (user(), agent("Перевіряю", call("find"), finish="tool_use"), agent("Ось"))
    reporting = (user(), agent("Перевіряю", call("find"), finish="stop"))
    assert verdict(said, made, *asking)[0] == "passed"
    assert verdict(said, made, *reporting)[0] == "failed"
    assert verdict(made, said, *reporting)[0] == "passed"


def test_words_put_into_the_agents_mouth_are_no_event() -> None:
    history = (
        user(),
        agent("Підтвердьте", finish=SCRIPTED),
        user("так"),
        agent("Готово", call("create_refund")),
    )
    assert verdict(ASKED, REFUND, *history)[0] == "failed"
    assert verdict(CONFIRMED, REFUND, *history)[0] == "passed"


def test_a_pattern_without_an_answer_leaves_open_only_what_it_could_change() -> None:
    broken = {"userText": "("}
    assert verdict(broken, REFUND, *GOOD) == ("unresolved", "invalid_pattern")
    assert verdict(CONFIRMED, {"agentText": "("}, *GOOD) == ("unresolved", "invalid_pattern")
    first = (user(), agent("1", call("verify"), call("create_refund")), user("x"), agent("2"))
    assert verdict({"toolName": "verify"}, REFUND, *first) == ("passed", None)


def test_only_an_order_of_calls_needs_capture() -> None:
    assert verdict(CONFIRMED, REFUND, *GOOD, tools_captured=False) == ("unresolved", "no_tool_capture")
    assert verdict(ASKED, CONFIRMED, *GOOD, tools_captured=False) == ("passed", None)


def test_silence_is_never_a_pass() -> None:
    assert verdict({"userText": "1"}, {"userText": "2"}, user("1"), user("2")) == (
        "failed",
        "no_agent_message",
    )


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({}, "exactly one of"),
        ({"toolName": "a", "userText": "b"}, "exactly one of"),
        ({"toolName": "a", "flags": "i"}, "flags belong to"),
    ],
)
def test_an_event_is_one_thing(event: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        assertion("precedes", before=event, after=REFUND)


def test_the_two_events_differ() -> None:
    with pytest.raises(ValidationError, match="same event"):
        assertion("precedes", before=REFUND, after=REFUND)
    assert check(assertion("precedes", before=CONFIRMED, after=REFUND), *GOOD).verdict is Verdict.PASSED
