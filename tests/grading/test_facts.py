from __future__ import annotations

import pytest

from proctor_contracts.results import Verdict
from proctor_contracts.transcript import SCRIPTED
from proctor_grading.extraction import FactKind, facts_in, plain_number
from tests.grading.build import agent, assertion, call, check, user


def found(text: str) -> list[tuple[str, str]]:
    return [(fact.kind.value, fact.values[0]) for fact in facts_in(text)]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Ціна 10\u00a0000 грн, знижка 15%", [("money", "10000"), ("percent", "15")]),
        ("$1,200.50 або 1.200,50 €", [("money", "1200.5"), ("money", "1200.5")]),
        ("13 травня до 18:00", [("date", "05-13"), ("time", "18:00")]),
        ("May 13, 2026 / 2026-05-13", [("date", "2026-05-13"), ("date", "2026-05-13")]),
        ("на 13.05.2026", [("date", "2026-05-13")]),
        ("+380 44 123 45 67", [("phone", "380441234567")]),
        ("0441234567", [("phone", "0441234567")]),
        ("замовлення ORD-12345 чи №778812", [("id", "ORD-12345"), ("id", "778812")]),
        ("Див. https://Shop.ua/a?b=1.", [("url", "shop.ua/a?b=1")]),
        ("пишіть на Help@Shop.ua", [("email", "help@shop.ua")]),
        ("1. Перше\n2) друге\nі 3 товари, 12 балів", [("number", "12")]),
        ("5 маракуй і 3 мартини", []),
        ("99,90₴", [("money", "99.9")]),
    ],
)
def test_facts_are_found_and_normalised(text: str, facts: list[tuple[str, str]]) -> None:
    assert found(text) == facts


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,200", ("1200", "1.2")),
        ("1.200.000", ("1200000",)),
        ("10 000,5", ("10000.5",)),
        ("0.125", ("0.125",)),
        ("007", ("7",)),
        ("2.50", ("2.5",)),
    ],
)
def test_numbers_are_read_in_every_way_they_may_be_meant(text: str, values: tuple[str, ...]) -> None:
    assert plain_number(text) == values


def test_a_currency_is_part_of_a_price() -> None:
    assert [fact.currency for fact in facts_in("850 грн, $10, 20 євро")] == ["UAH", "USD", "EUR"]
    assert facts_in("850 грн")[0].kind is FactKind.MONEY


@pytest.mark.parametrize(
    ("said", "told", "passes"),
    [
        ("Ціна 850 грн", "850 грн", True),
        ("Ціна 850 грн", "850 USD", False),
        ("Ціна 850 грн", "850", True),
        ("Ціна 1 200 грн", "1,200.00 UAH", True),
        ("Знижка 10%", "знижка 10 відсотків", True),
        ("Знижка 15%", "знижка 10%", False),
        ("Доставка 13 травня", "2026-05-13", True),
        ("Доставка 13.05.2026", "13 травня", True),
        ("Доставка 14 травня", "2026-05-13", False),
        ("Телефон 0441234567", "+380 44 123 45 67", True),
        ("Телефон 0441234568", "+380 44 123 45 67", False),
        ("https://shop.ua/return/", "див. http://www.shop.ua/return", True),
        ("https://shop.ua/refund", "https://shop.ua/return", False),
        ("Замовлення ord-12345", "ORD-12345", True),
        ("Працюємо до 9:00", "з 09:00", True),
        ("Працюємо з 9 до 18", "09:00–18:00", True),
        ("Працюємо до 19", "09:00–18:00", False),
        ("о 21:00", "at 9 PM", True),
        ("at 9:00 PM", "09:00", False),
        ("до 12:30 am", "00:30", True),
        ("Дзвоніть (044) 123-45-67", "+380441234567", True),
        ("Доставка 13.05.26", "2026-05-13", True),
        ("Доставка 13.05", "13 травня 2026 року", True),
        ("Доставка 14.05", "13 травня 2026 року", False),
        ("Доставка 21-го травня", "21.05.2026", True),
        ("Доставка у 2026 році", "13.05.2026", True),
        ("Доставка у 2027 році", "13.05.2026", False),
        ("Вартість 2 млн грн", "2 000 000 грн", True),
        ("Вартість 3 млн грн", "2 000 000 грн", False),
        ("Вартість 5 тис. грн", "5000", True),
        ("Ціна $1.5k", "1500 USD", True),
        ("Доставка 5 грн", '{"price": "5.00"}', True),
        ("Вага 2,5 кг", "2.5кг", True),
        ("iPhone 256GB", "256 GB", True),
        ("iPhone 512GB", "256 GB", False),
        ("Розмір 90×60 см", "90x60", True),
        ("Розмір 90х70", "90x60", False),
        ("3х15 грн", "15 грн", True),
        ("Ціна _1299_ грн", "1299", True),
        ("Ціна __1299__ грн", "1300", False),
        ("Ціна 1\u200b299 грн", "1299", True),
        ("Посилка 20 4502 8312 3456", "20450283123456", True),
        ("Посилка 20 4502 8312 3457", "20450283123456", False),
        ("Картка 4111-1111-1111-1111", "4111111111111111", True),
        ("UA213223130000026007233566001", "UA21 3223 1300 0002 6007 2335 66001", True),
        ("Версія 2.3.1", "2.3.1", True),
        ("Версія 2.3.2", "2.3.1", False),
        ("Адреса 192.168.0.1", "192.168.0.10", False),
        ("Ціна 1.299.000 грн", "1299000", True),
        ("Сайт ramosu.ua", "https://ramosu.ua/shop", True),
        ("Сайт ramosu.ua", "пишіть на help@ramosu.ua", True),
        ("Сайт ramosu-shop.com", "https://ramosu.ua/shop", False),
        ("Оплата: ramosu.ua/pay", "ramosu.ua", False),
    ],
)
def test_a_stated_fact_must_be_told_first(said: str, told: str, *, passes: bool) -> None:
    result = check(assertion("grounded_facts"), user(told), agent(said))
    assert (result.verdict is Verdict.PASSED) is passes
    assert result.code == (None if passes else "ungrounded_facts")


def test_tool_results_scripted_history_and_given_facts_are_evidence() -> None:
    entries = (
        user(),
        agent("Знижка 20%", finish=SCRIPTED),
        user(),
        agent(
            "Замовлення AB-1234 за 1200.5 грн, знижка 20%, гаряча лінія 0800 123 456",
            call("find", {"id": "AB-9999"}, result={"orders": [{"id": "AB-1234", "total": 1200.50}]}),
        ),
    )
    assert check(assertion("grounded_facts", facts=["Лінія: 0800 123 456"]), *entries).score == 1
    bare = check(assertion("grounded_facts"), *entries)
    assert bare.details is not None
    assert bare.details["ungrounded"] != []


def test_what_the_agent_itself_says_or_asks_for_is_no_evidence() -> None:
    invented = (user(), agent("Ціна 500 грн", call("find", {"price": 500})), user(), agent("Так, 500 грн"))
    result = check(assertion("grounded_facts"), *invented)
    assert (result.verdict, result.score) == (Verdict.FAILED, 0)


def test_a_threshold_allows_for_some_loose_facts() -> None:
    entries = (user("10 грн і 20 грн"), agent("10 грн, 20 грн, 30 грн, 40 грн"))
    assert check(assertion("grounded_facts", threshold=0.5), *entries).score == 0.5
    half = check(assertion("grounded_facts", threshold=0.51), *entries)
    assert half.verdict is Verdict.FAILED
    assert half.expected == "at least 51 % of the facts in any agent message grounded"
    assert (
        check(assertion("grounded_facts"), *entries).expected
        == "all of the facts in any agent message grounded"
    )


def test_an_answer_without_facts_has_nothing_to_ground() -> None:
    result = check(assertion("grounded_facts"), "Вітаю! У нас 3 варіанти.")
    assert (result.verdict, result.code) == (Verdict.NOT_APPLICABLE, "no_facts")


def test_round_the_clock_and_phone_spellings() -> None:
    assert check(assertion("grounded_facts"), "Ми працюємо 24/7").code == "no_facts"
    for told, said in (("0800123456", "0 800 123 456"), ("0 800 123 456", "0800123456")):
        assert check(assertion("grounded_facts"), user(told), agent(said)).verdict is Verdict.PASSED
