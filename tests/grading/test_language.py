from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from proctor_contracts.results import Verdict
from proctor_grading.language import read_letters
from tests.grading.build import assertion, check, context, holds

LONG_RUSSIAN = (
    "Здравствуйте! Заказ уже собран, завтра отправится в нужное место, менеджер напишет вам после доставки"
)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize(
    ("text", "expected", "fits", "code"),
    [
        (nfd("ещё"), "uk", False, "forbidden_letter"),
        (nfd("їжак"), "ru", False, "forbidden_letter"),
        ("", "uk", None, None),
        ("12345 — 67", "uk", None, None),
        ("👍🙏", "uk", None, None),
        ("п'ять", "uk", True, None),
        ("п’ять", "uk", True, None),
        ("пʼять", "uk", True, None),
        ("Дякую за замовлення iPhone 15 Pro Max 256GB Natural Titanium", "uk", True, None),
        ("Клієнт написав «Спасибо большое, всё пришло», дякую!", "uk", False, "forbidden_letter"),
        ("Привiт", "uk", True, None),
        ("Привет, як справи?", "uk", True, None),
        ("Your parcel is at Нова Пошта", "en", False, "forbidden_letter"),
        ("Gracias, el pedido llegó", "en", True, None),
        ("Dyakuyu za zamovlennya", "uk", False, "no_cyrillic"),
        ("Thanks! Дякуємо for your order, we will ship it tomorrow", "uk", False, "latin_prose"),
        ("Дзякуй, усё добра, ў нас", "uk", False, "forbidden_letter"),
        ("Хвала, поруџбина је стигла", "uk", False, "forbidden_letter"),
        ("Sorry, I can't help", "uk", False, "no_cyrillic"),
        ("RAMOSU", "uk", None, None),
        ("OK", "ru", None, None),
        ("iPhone 15 Pro", "uk", None, None),
        ("Да, конечно", "uk", True, None),
        (LONG_RUSSIAN, "uk", False, "no_unique_letters"),
        (LONG_RUSSIAN, "ru", True, None),
        ("Дякую", "en", False, "forbidden_letter"),
        ("Код: `всё ещё`, дивіться https://приклад.укр/ещё", "uk", True, None),
        ("```\nещё\n```\nГотово, дякуємо", "uk", True, None),
    ],
)
def test_letters_decide(text: str, expected: str, *, fits: bool | None, code: str | None) -> None:
    reading = read_letters(text, expected)
    assert (reading.fits, reading.code) == (fits, code)


@pytest.mark.parametrize(
    ("text", "evidence"),
    [("п'ять", "weak"), ("Привiт", "weak"), ("Привіт", "strong"), ("Привет, як справи?", "weak")],
)
def test_a_pass_says_how_strong_its_evidence_is(text: str, evidence: str) -> None:
    assert check(assertion("lang", expected="uk"), text).details == {"evidence": evidence}


def test_a_word_of_two_scripts_is_noted_or_failed() -> None:
    noted = check(assertion("lang", expected="uk"), "Привiт")
    assert noted.verdict is Verdict.PASSED
    assert noted.notes == ("mixed_script: Привiт",)
    failed = check(assertion("lang", expected="uk", homoglyphs="fail"), "Привiт")
    assert failed.code == "mixed_script"


def test_quotes_and_terms_can_be_left_out() -> None:
    quote = "Клієнт написав «Спасибо большое, всё пришло», дякую!"
    assert holds(assertion("lang", expected="uk", ignoreQuotes=True), quote)
    parcel = "Your parcel is at Нова Пошта"
    assert holds(assertion("lang", expected="en", ignore=["нова пошта"]), parcel)


def test_seed_mode_knows_the_three_letter_rules_only() -> None:
    seed: dict[str, Any] = {"mode": "seed"}
    assert not holds(assertion("lang", expected="uk", **seed), "ещё")
    assert holds(assertion("lang", expected="uk", **seed), "Thanks! Дякуємо for your order, we will ship it")
    assert holds(assertion("lang", expected="uk", **seed), "Хвала, поруџбина")
    assert not holds(assertion("lang", expected="ru", **seed), "їжак")
    assert not holds(assertion("lang", expected="en", **seed), "так")


def test_messages_without_text_are_skipped_but_not_all_of_them() -> None:
    wanted = assertion("lang", expected="uk")
    assert holds(wanted, "👍", "Дякую, гарного дня", "RAMOSU")
    assert check(wanted, "👍", "12345").code == "no_text"
    assert not holds(wanted, "Дякую", "Спасибо, всё")
    assert holds(assertion("lang", expected="uk", scope="any_agent_msg"), "Дякую", "Спасибо, всё")


def test_a_failure_shows_the_word() -> None:
    found = check(assertion("lang", expected="uk"), "Добре. " * 100 + "Уже всё готово")
    assert found.code == "forbidden_letter"
    assert '"всё"' in found.message
    assert found.seen is not None
    assert "всё" in found.seen


class Guess:
    def __init__(self, language: str | None, confidence: float) -> None:
        self.answer = (language, confidence)

    def supports(self, language: str) -> bool:
        return language in {"uk", "en", "pl", "es"}

    def guess(self, text: str) -> tuple[str | None, float]:
        assert text.strip()
        return self.answer


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (("pl", 0.5), Verdict.PASSED),
        (("es", 0.9), Verdict.FAILED),
        (("es", 0.79), Verdict.FAILED),
        ((None, 0.0), Verdict.FAILED),
    ],
)
def test_other_languages_are_the_detectors(answer: tuple[str | None, float], verdict: Verdict) -> None:
    found = check(
        assertion("lang", expected="pl"), "Dziękuję bardzo", known=context(languages=Guess(*answer))
    )
    assert found.verdict is verdict
    assert found.code == (
        None if verdict is Verdict.PASSED else "other_language" if answer[1] >= 0.8 else "no_text"
    )


@pytest.mark.parametrize("languages", [None, Guess("de", 1.0)])
def test_a_language_nobody_can_tell_is_unresolved(languages: Guess | None) -> None:
    found = check(assertion("lang", expected="de"), "Danke schön", known=context(languages=languages))
    assert (found.verdict, found.code) == (Verdict.UNRESOLVED, "language_unsupported")


@pytest.mark.parametrize(
    ("text", "expected", "guess", "passes"),
    [
        ("Gracias, el pedido llegó", "en", Guess("es", 0.95), False),
        ("Gracias, el pedido llegó", "en", Guess("es", 0.7), True),
        ("Ok ya", "en", Guess("es", 0.99), True),
        ("Да, конечно", "uk", Guess("ru", 0.9), False),
        ("Привіт, як справи", "uk", Guess("ru", 0.99), True),
    ],
)
def test_auto_asks_the_detector_only_where_letters_are_weak(
    text: str, expected: str, guess: Guess, *, passes: bool
) -> None:
    wanted = assertion("lang", expected=expected, mode="auto")
    assert holds(wanted, text, known=context(languages=guess)) is passes
    assert holds(wanted, text)
