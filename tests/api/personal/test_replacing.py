"""Personal data in conversations: found in the forms people write it in, and nothing else taken for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor_api.personal.replacing import Replacing


def replaced(text: str, metadata: dict[str, Any] | None = None) -> str:
    return Replacing(metadata).text(text)


@pytest.mark.parametrize(
    "text",
    [
        "olena.koval+shop@example.com.ua", "ОЛЕНА@пошта.укр", "o'brien@mail.example.org",
        "a_b-c%d@sub-domain.example.co",
    ],
)  # fmt: skip
def test_an_address_of_mail_is_replaced_whole(text: str) -> None:
    assert replaced(f"Пишіть на {text}.") == "Пишіть на [email-1]."
    assert replaced(f"<{text}>, дякую") == "<[email-1]>, дякую"


@pytest.mark.parametrize(
    "text",
    [
        "+380501234567", "380501234567", "0501234567", "80501234567", "+38 (050) 123-45-67",
        "(050) 123 45 67", "050-123-45-67", "050 123 4567", "050 12 34 567", "050.123.45.67",
        "044 123 45 67", "+38050 123 45 67", "050\u00a0123\u201145\u201167", "00380501234567",
        "+48 601 234 567", "+1 (555) 123-4567", "(555) 123-4567", "555-123-4567", "8 (903) 123-45-67",
        "+7 903 123-45-67", "+4915112345678",
    ],
)  # fmt: skip
def test_a_phone_is_replaced_however_it_is_grouped(text: str) -> None:
    assert replaced(f"Мій номер {text}, дзвоніть") == "Мій номер [phone-1], дзвоніть"
    assert replaced(f"тел:{text}") == "тел:[phone-1]"


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "5555555555554444",
        "378282246310005", "3782 822463 10005", "4222222222222",
    ],
)  # fmt: skip
def test_a_card_is_replaced_when_its_check_digit_is_right(text: str) -> None:
    assert replaced(f"Картка {text} 12/27, код 123") == "Картка [card-1] 12/27, код 123"


@pytest.mark.parametrize("text", ["4111 1111 1111 1112", "4111111111111112", "1234567890123452"])
def test_a_long_number_that_is_no_card_stays(text: str) -> None:
    assert replaced(f"Накладна {text}") == f"Накладна {text}"


def test_tax_numbers_are_told_by_their_check_digit_or_by_their_name() -> None:
    assert replaced("Мій код 3184710691") == "Мій код [ipn-1]"
    assert replaced("Мій код 3184710690") == "Мій код 3184710690"
    assert replaced("ІПН: 3184710690, дякую") == "ІПН: [ipn-1], дякую"
    assert replaced("ідентифікаційний код 3184710690") == "ідентифікаційний код [ipn-1]"


@pytest.mark.parametrize("text", ["UA213223130000026007233566001", "UA21 3223 1300 0002 6007 2335 6600 1"])
def test_an_account_is_replaced(text: str) -> None:
    assert replaced(f"Рахунок {text}.") == "Рахунок [iban-1]."


@pytest.mark.parametrize(
    "text",
    [
        "Замовлення 1234567 від 08.05.2026 14:30", "08.05.2026 10:30 – 09.05.2026 11:00",
        "2026-05-13T09:26:53.589Z", "Ціна 1 299,00 грн, знижка 10 %", "ТТН 20450000123456",
        "Замовлення №3184710691", "версія 0.399999999", "id 0f8fad5b-d9cb-469f-a165-70867728950e",
        "@olena, дивись", "3 по 450 = 1350", "інвойс INV-0501234567", "1715600000000",
        "192.168.100.200", "код 0501", "https://shop.example/o/12345678901",
    ],
)  # fmt: skip
def test_what_only_looks_like_personal_data_stays(text: str) -> None:
    assert replaced(text) == text


def test_one_datum_has_one_placeholder_however_it_is_written() -> None:
    personal = Replacing(None)
    assert personal.text("0501234567 або +380 50 123-45-67, не 0671234567") == (
        "[phone-1] або [phone-1], не [phone-2]"
    )
    assert personal.text("A@B.CO a@b.co 0671234567") == "[email-1] [email-1] [phone-2]"
    assert personal.counts == {"phone": 2, "email": 1}


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("Олена", ["Олена", "Олено", "Олени", "Олені", "Оленою", "ОЛЕНО", "олена"]),
        ("Андрій", ["Андрій", "Андрію", "Андрія", "Андрієм", "Андрієві"]),
        ("Ігор", ["Ігор", "Ігоря", "Ігорю", "Ігорем", "Ігореві"]),
        ("Ольга", ["Ольга", "Ольго", "Ользі", "Ольгою"]),
        ("Юля", ["Юля", "Юлю", "Юлі", "Юлею"]),
        ("Марія", ["Марія", "Маріє", "Марії", "Марією"]),
        ("Петро", ["Петро", "Петре", "Петра", "Петрові", "Петром"]),
        ("Зеленська", ["Зеленська", "Зеленської", "Зеленську"]),
        ("Коваль", ["Коваль", "Коваля", "Ковалем", "Ковалю"]),
        ("Дем'яненко", ["Дем’яненко", "Демʼяненка", "ДЕМ'ЯНЕНКО"]),
        ("Olena", ["Olena", "OLENA", "olena"]),
    ],
)
def test_a_name_from_the_metadata_is_found_in_every_case(name: str, forms: list[str]) -> None:
    for form in forms:
        assert replaced(f"Вітаю, {form}!", {"firstName": name}) == "Вітаю, [name-1]!", form


@pytest.mark.parametrize("text", ["Оленячий хутір", "олень", "Петрушка", "Олениця та Оленівка", "Марібор"])
def test_a_word_that_begins_like_a_name_stays(text: str) -> None:
    metadata = {"user": {"name": "Олена Петро"}, "lastName": "Юля", "surname": "Марія"}
    assert replaced(text, metadata) == text


@pytest.mark.parametrize(
    "metadata",
    [
        {"user": {"first_name": "Олена", "last_name": "Коваль"}}, {"customerName": "Олена Коваль"},
        {"name": "Олена Коваль"}, {"клієнт": {"ПІБ": "Олена Коваль"}},
        {"contact": [{"name": "Олена Коваль"}]},
        {"fullName": "Олена О. Коваль"},
    ],
)  # fmt: skip
def test_names_are_known_by_what_the_metadata_calls_them(metadata: dict[str, Any]) -> None:
    personal = Replacing(metadata)
    assert personal.text("Олено Коваль, ваше замовлення") == "[name-1] [name-2], ваше замовлення"
    written = json.dumps(personal.json(metadata), ensure_ascii=False)
    assert "Олена" not in written
    assert "Коваль" not in written


@pytest.mark.parametrize(
    "metadata",
    [
        {"model": {"name": "Клод"}}, {"botName": "Клод"}, {"userId": "Клод"}, {"user": {"name": "Клієнт"}},
        {"name": ""}, {"name": 17}, {"agent": {"name": "Клод"}}, None,
    ],
)  # fmt: skip
def test_names_of_anything_else_and_names_of_nobody_stay(metadata: dict[str, Any] | None) -> None:
    assert replaced("Клод каже: клієнт питає про 17", metadata) == "Клод каже: клієнт питає про 17"


def test_tool_calls_are_searched_even_where_escapes_hide_what_they_say() -> None:
    personal = Replacing({"name": "Олена"})
    entry = {
        "role": "agent",
        "content": "Записала, Олено.",
        "toolCalls": [
            {
                "id": "call_0501234567",
                "name": "save",
                "args": {"who": "Олена", "phone": "+380501234567", "n": 380671234567, "qty": 2},
                "argsRaw": json.dumps({"who": "Олена", "phone": "+380501234567"}),
                "result": [{"mail": "a@b.co", "+380501234567": True}],
                "error": "a@b.co невідомий",
            },
            {"name": "broken", "argsRaw": '{"who": "Олена", '},
        ],
    }
    assert personal.entry(entry) == {
        "role": "agent",
        "content": "Записала, [name-1].",
        "toolCalls": [
            {
                "id": "call_0501234567",
                "name": "save",
                "args": {"who": "[name-1]", "phone": "[phone-1]", "n": "[phone-2]", "qty": 2},
                "argsRaw": '{"who": "[name-1]", "phone": "[phone-1]"}',
                "result": [{"mail": "[email-1]", "[phone-1]": True}],
                "error": "[email-1] невідомий",
            },
            {"name": "broken", "argsRaw": '{"who": "[name-1]", '},
        ],
    }


def test_a_key_gives_away_what_no_pattern_would() -> None:
    personal = Replacing(None)
    assert personal.json({"phone": "12-34-56", "ipn": 3184710690, "email": "olena@localhost"}) == {
        "phone": "[phone-1]",
        "ipn": "[ipn-1]",
        "email": "[email-1]",
    }
    assert personal.json({"phone": "немає", "email": None, "card": True, "at": 1715600000}) == {
        "phone": "немає",
        "email": None,
        "card": True,
        "at": 1715600000,
    }


@pytest.mark.parametrize(
    "text",
    ["1" * 200_000, "a" * 200_000, "a@" * 100_000, "1 " * 100_000, "+1-" * 70_000, "(0" * 100_000,
     "Олена" * 40_000, "a.b-" * 50_000 + "@", "UA21 3223 " * 20_000, "4111 1111 " * 20_000],
)  # fmt: skip
def test_a_text_of_nothing_but_beginnings_is_read_to_its_end(text: str) -> None:
    assert replaced(text, {"name": "Олена Коваль Андрій"}) == text
