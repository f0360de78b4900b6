"""How searched and compared texts are brought into one form."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_store.searching import case_search_text, exact, fold, like_pattern


@given(st.text())
def test_folding_is_stable_and_blind_to_unicode_form(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(unicodedata.normalize("NFD", text)) == fold(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Рамосу", "РАМОСУ"),
        ("Straße", "STRASSE"),
        ("10\u00a0000", "10 000"),
        ("ﬁn", "fin"),
        ("a\n\tb", "a b"),
    ],
)
def test_what_readers_take_for_the_same_is_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_wildcards_are_literals() -> None:
    assert like_pattern("100%_a\\b") == r"%100\%\_a\\b%"


def test_exact_comparison_keeps_case_and_drops_only_form_and_margins() -> None:
    assert exact(" \u0457 ") == exact("\u0456\u0308") == "ї"
    assert exact("Мова") != exact("мова")


def test_a_search_never_matches_across_the_parts_of_a_case() -> None:
    text = case_search_text(ref="R-1", name="Назва", category="Мова", tags=("a",), messages=("Привіт",))
    assert text == "r-1\nназва\nмова\na\nпривіт"
    assert fold("Назва Мова") not in text
