from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.text import EXCERPT_LIMIT, blank, excerpt, fold, storable, white_folded


def test_folding_composes_and_unifies_spaces_and_line_ends() -> None:
    assert fold(unicodedata.normalize("NFD", "їжак")) == "їжак"
    assert fold("10\u00a0000\u202fгрн") == "10 000 грн"
    assert fold("10\u2009000\u2007грн\u3000та") == "10 000 грн та"
    assert fold("a\r\nb\rc\nd") == "a\nb\nc\nd"
    assert fold("Їжак") == "Їжак"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("STRASSE", "Straße", True),
        ("istanbul", "İSTANBUL", True),
        ("ОБСЯГ", "обсяг", True),
        ("ΟΔΌΣ", "οδός", True),
        ("i", "ı", False),
        ("ї", "і", False),
    ],
)
def test_case_folding_goes_beyond_ascii(one: str, other: str, *, equal: bool) -> None:
    assert (fold(one, case_insensitive=True) == fold(other, case_insensitive=True)) is equal


@given(st.text())
def test_folding_is_idempotent_and_blind_to_unicode_form(text: str) -> None:
    for case_insensitive in (False, True):
        folded = fold(text, case_insensitive=case_insensitive)
        assert fold(folded, case_insensitive=case_insensitive) == folded
        assert fold(unicodedata.normalize("NFD", text), case_insensitive=case_insensitive) == folded


@given(st.text(alphabet=st.characters(codec=None), max_size=900), st.integers(0, 900))
def test_an_excerpt_is_short_storable_and_holds_its_place(text: str, at: int) -> None:
    shown = excerpt(text, min(at, max(0, len(text) - 1)))
    assert len(shown) <= EXCERPT_LIMIT
    shown.encode()
    assert "\x00" not in shown


def test_an_excerpt_shows_the_place_asked_for() -> None:
    assert "голка" in excerpt("а" * 1000 + "голка" + "б" * 1000, 1000)
    assert excerpt("коротко") == "коротко"


def test_surrogates_are_joined_or_replaced() -> None:
    assert storable("a\ud800b") == "a\ufffdb"
    assert storable("\ud83d\ude00") == "😀"


def test_white_space_folds_to_single_spaces() -> None:
    assert white_folded("  a\u00a0\n b\t") == "a b"


def test_folding_takes_apart_what_print_joins_and_drops_what_nobody_sees() -> None:
    assert fold("o\ufb03ce") == "office"
    assert fold("\ufeffРа\u00adмо\u200bсу\u2060 \u202a❤\ufe0f\u202c") == "Рамосу ❤"
    assert fold("x²½①") == "x²½①"


@pytest.mark.parametrize(
    "text", ["", " \n", "\u200b", "\ufeff\u200d", "\u00ad", "\u2800\u3164", "\x00\x07", "\u00a0\u2003"]
)
def test_what_shows_nothing_is_blank(text: str) -> None:
    assert blank(text)
    assert not blank(text + "\ufffd")
    assert not blank(text + "👍")
