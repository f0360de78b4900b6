from __future__ import annotations

import pytest

from proctor_grading.handover import hands_over, is_handover_tool


@pytest.mark.parametrize(
    "text",
    [
        "Передаю вас менеджеру",
        "Зараз переключу на оператора",
        "Наш спеціаліст зв'яжеться з вами",
        "Наш спеціаліст зв\u2019яжеться з вами протягом години",
        "З\u02bcєднати вас з оператором?",
        "Колега передзвонить вам завтра",
        "На жаль, система не відповідає, я передам ваше питання колегам",
        "ПЕРЕДАЮ МЕНЕДЖЕРУ",
        "Перевожу на оператора",
        "Специалист ответит вам в течение дня",
        "I'll connect you with a human agent",
        "Please hold, handing you over to our support team.",
        "A colleague will get back to you",
        "Let me put you through to an operator",
        "I have escalated this to a supervisor",
        "Не бачу замовлення. Передаю вас менеджеру.",
    ],
)
def test_words_that_bring_people_in(text: str) -> None:
    assert hands_over(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Не можу передати вас менеджеру",
        "Не передаю менеджеру",
        "Менеджер не зв'яжеться з вами",
        "I can't transfer you to an agent",
        "I am unable to connect you with a human",
        "Замовлення передано у доставку",
        "Я підтримую вас",
        "Сервіс зараз недоступний, спробуйте пізніше",
        "The connection to the support system failed",
        "Please pass me your order number so the team can check",
        "Your support ticket will be handled",
        "Передаю вам рахунок. Менеджер у відпустці.",
    ],
)
def test_words_that_do_not(text: str) -> None:
    assert not hands_over(text)


@pytest.mark.parametrize(
    "name",
    [
        "escalate",
        "escalation.payment",
        "callHumanOperator",
        "transfer_to_agent",
        "handOff",
        "hand_over",
        "ескалація",
        "передати.оператору",
        "notify-manager",
        "live_agent",
    ],
)
def test_tools_that_bring_people_in(name: str) -> None:
    assert is_handover_tool(name)


@pytest.mark.parametrize(
    "name", ["create_refund", "get_manager", "listOperators", "humanize_text", "agent", "", "42"]
)
def test_tools_that_do_not(name: str) -> None:
    assert not is_handover_tool(name)


@pytest.mark.parametrize("unit", ["передаю ", "hand ", "менеджер ", "не можу ", "put ", "a"])
def test_endless_repetition_is_read(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    assert hands_over(text) in {True, False}
