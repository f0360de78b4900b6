from __future__ import annotations

from typing import Any

import pytest

from proctor_contracts.results import AssertionResult, Verdict
from tests.grading.build import agent, assertion, call, check, context, user

DOWN = "http_503: the handler answered 503 (5xx@1)"
LATE = "timeout: no answer in time (timeout@1)"


def asks(*calls: Any, text: str = "") -> Any:
    """A model's reply that asks for tools."""
    return agent(text, *calls, finish="tool_use")


def graded(*entries: Any, **fields: Any) -> AssertionResult:
    return check(assertion("recovery", **fields), user("Де замовлення A-17?"), *entries)


def broken(name: str = "find_order", error: str = DOWN) -> Any:
    return call(name, {"id": "A-17"}, error=error)


def fine(name: str = "find_order") -> Any:
    return call(name, {"id": "A-17"}, result={"total": 850})


@pytest.mark.parametrize(
    ("after", "error", "looked_at"),
    [
        ("any", DOWN, True),
        ("any", LATE, True),
        ("error", DOWN, True),
        ("error", LATE, False),
        ("timeout", LATE, True),
        ("timeout", DOWN, False),
        ("timeout", "Request timed out after 3 s", True),
        ("timeout", "context deadline exceeded", True),
        ("timeout", "timeout", True),
        ("error", "http_504: Gateway Timeout", True),
        ("error", "malformed: no JSON", True),
    ],
)
def test_failures_are_told_apart_by_their_code_or_words(after: str, error: str, *, looked_at: bool) -> None:
    found = graded(asks(broken(error=error)), agent("Вибачте"), after=after, expect="retry")
    assert found.verdict is (Verdict.FAILED if looked_at else Verdict.NOT_APPLICABLE)


def test_without_a_failure_there_is_nothing_to_recover_from() -> None:
    for expect in ("retry", "escalate", "no_fabrication"):
        found = graded(asks(fine()), agent("850 грн"), expect=expect)
        assert (found.verdict, found.code) == (Verdict.NOT_APPLICABLE, "no_fault")
    other = graded(asks(broken("other")), agent("850 грн"), expect="retry", toolName="find_order")
    assert (other.verdict, other.code) == (Verdict.NOT_APPLICABLE, "no_fault")


@pytest.mark.parametrize(
    ("entries", "within", "passes"),
    [
        ((asks(broken()), asks(fine()), agent("Ось")), 2, True),
        ((asks(broken()), asks(fine(), text="Спробую ще раз"), agent("Ось")), 2, True),
        ((asks(broken()), asks(fine(), text="Спробую ще раз"), agent("Ось")), 1, False),
        ((asks(broken()), asks(broken()), agent("Не вийшло")), 2, True),
        ((asks(broken()), asks(call("other")), asks(fine())), 1, False),
        ((asks(broken()), agent("Вибачте")), 2, False),
        ((asks(broken()),), 2, False),
        ((agent("Ось", broken(), fine()),), 2, True),
        ((asks(broken(), fine()), agent("Ось")), 2, False),
        ((asks(broken()), agent("Спробувати ще?"), user("так"), asks(fine()), agent("Ось")), 2, True),
    ],
)
def test_a_retry_is_another_call_of_the_same_tool_soon_after(
    entries: tuple[Any, ...], within: int, *, passes: bool
) -> None:
    found = graded(*entries, expect="retry", within=within)
    assert found.passed is passes, found
    assert found.code == (None if passes else "not_retried")


def test_every_failed_call_wants_its_own_reaction() -> None:
    entries = (asks(broken(), broken("stock")), asks(fine()), agent("Ось"))
    found = graded(*entries, expect="retry")
    assert found.passed is False
    assert "stock failed (http_503" in found.message


def test_a_failure_tells_what_the_agent_did_instead() -> None:
    found = graded(asks(broken()), asks(call("close_chat")), agent("До побачення"), expect="escalate")
    assert found.message == (
        f"find_order failed ({DOWN}), and in the next 2 steps the agent did not hand over to people"
    )
    assert found.seen == 'called close_chat({}); said "До побачення"'
    assert found.where is not None
    assert found.where.entry == 1


@pytest.mark.parametrize(
    ("entries", "passes"),
    [
        ((asks(broken()), asks(call("escalation.payment")), agent("Ок")), True),
        ((asks(broken()), agent("На жаль, не бачу замовлення. Передаю вас менеджеру.")), True),
        ((asks(broken()), agent("I'm sorry, let me connect you with a human agent.")), True),
        ((asks(broken()), agent("Сервіс недоступний, спробуйте пізніше")), False),
        ((asks(broken()), asks(broken()), asks(broken()), asks(call("call_operator"))), True),
        ((asks(broken()), asks(fine()), agent("850 грн")), False),
        ((asks(call("call_operator"), broken()), agent("Ось")), False),
    ],
)
def test_people_are_brought_in_by_a_tool_or_in_words(entries: tuple[Any, ...], *, passes: bool) -> None:
    found = graded(*entries, expect="escalate")
    assert found.passed is passes, found


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        ("Вибачте, зараз не бачу замовлення A-17", True),
        ("Ваше замовлення коштує 850 грн", False),
        ("Вибачте, система не відповідає", True),
        ("Гарантія 24 місяці", True),
    ],
)
def test_nothing_is_made_up_after_a_failure(said: str, *, passes: bool) -> None:
    told = asks(call("warranty", result={"months": 24}))
    found = graded(told, asks(broken()), agent(said), expect="no_fabrication")
    assert found.passed is passes, found
    assert found.code == (None if passes else "fabricated")


def test_what_was_said_before_the_failure_is_not_looked_at() -> None:
    entries = (asks(broken(), text="Зачекайте 15 хвилин"), agent("Не знайшов"))
    assert graded(*entries, expect="no_fabrication").passed is True
    late = (*entries, user("?"), agent("Тобто 700 грн"))
    found = graded(*late, expect="no_fabrication")
    assert (found.passed, found.message.rpartition(": ")[2]) == (False, '"700 грн"')


def test_saying_nothing_after_a_failure_is_not_honesty() -> None:
    found = graded(asks(broken()), expect="no_fabrication")
    assert (found.verdict, found.code) == (Verdict.FAILED, "no_agent_message")


def test_a_call_cut_off_by_the_token_limit_is_no_failed_call() -> None:
    cut = asks(broken(error="truncated_tool_call: cut"))
    assert graded(cut, agent("Ось"), expect="retry").code == "no_fault"


def test_without_capture_it_is_not_decided_and_silence_fails() -> None:
    wanted = assertion("recovery", expect="no_fabrication")
    assert check(wanted, "850 грн", known=context(tools_captured=False)).code == "no_tool_capture"
    assert check(wanted, user()).code == "no_agent_message"
