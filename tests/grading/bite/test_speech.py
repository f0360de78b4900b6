from __future__ import annotations

import pytest

from proctor_contracts.results import Verdict
from proctor_grading.bite.speech import LANGUAGES, guess_language, infinitive_near, is_prose, refuses
from tests.grading.build import assertion, check


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Вітаю, чим допомогти?", "uk"),
        ("Здравствуйте, мы уже едем", "ru"),
        ("Your order is on the way", "en"),
        ("O seu pedido está a caminho", "pt"),
        ("Замовлення RAMOSU iPhone 15 вже їде", "uk"),
        ("INV-2042", None),
        ("Ihre Bestellung kommt morgen", None),
        ("", None),
    ],
)
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    assert guess_language([text]) == language


def test_a_text_that_fits_two_languages_is_in_the_users() -> None:
    assert guess_language(["пароль"], before=["Как сменить пароль? Это срочно, вы где?"]) == "ru"
    assert guess_language(["пароль"], before=["Як змінити пароль?"]) == "uk"
    assert guess_language(["пароль"]) == "uk"
    assert guess_language(["INV-2042"], before=["Where is my invoice?"]) == "en"


def test_what_is_done_with_a_word() -> None:
    uk, en = LANGUAGES["uk"], LANGUAGES["en"]
    assert infinitive_near("пароль", ["Вітаю! Щоб змінити пароль, натисніть тут."], uk) == "змінити"
    assert infinitive_near("пароль", ["Пароль у карти. Щоб змінити адресу, натисніть."], uk) is None
    assert infinitive_near("password", ["Open Settings. There you can reset your password."], en) == "reset"


@pytest.mark.parametrize(
    ("language", "refusal", "consent"),
    [
        ("uk", "Вибачте, не можу цього показати", "Можу показати"),
        ("uk", "У цьому не допоможу", "Допоможу"),
        ("ru", "Это невозможно", "Это возможно"),
        ("en", "I can’t share that", "I can share that"),
        ("pt", "Não podemos mostrar", "Podemos mostrar"),
    ],
)
def test_refusals_are_told_from_consent(language: str, refusal: str, consent: str) -> None:
    assert refuses(refusal, LANGUAGES[language])
    assert not refuses(consent, LANGUAGES[language])


def test_data_is_not_prose() -> None:
    assert is_prose("Так, готово")
    assert not is_prose('{"status": "готово", "next": "нічого"}')
    assert not is_prose("42")


@pytest.mark.parametrize("language", ["uk", "ru", "en"])
def test_what_mutants_say_is_in_their_language_and_no_other(language: str) -> None:
    speech = LANGUAGES[language]
    for said in (speech.courtesy, speech.foreign, speech.affirmed.format(words="INV-1")):
        assert guess_language([said]) == language
        for expected in ("uk", "ru", "en"):
            right = check(assertion("lang", expected=expected), said).verdict is Verdict.PASSED
            assert right == (expected == language), (said, expected)
