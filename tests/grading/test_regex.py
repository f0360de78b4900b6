from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_grading.context import RegexFound, RegexInvalid, RegexLimit, RegexMissing
from proctor_grading.regex import QuickJsRegex
from tests.grading.build import REGEX


def found(pattern: str, text: str, flags: str = "") -> bool:
    answer = REGEX.search(pattern, flags, text)
    assert isinstance(answer, RegexFound | RegexMissing), answer
    return isinstance(answer, RegexFound)


@pytest.mark.parametrize(
    ("pattern", "flags", "matches"),
    [
        ("^Так", "", False),
        ("^Так", "m", True),
        ("Вітаю.+допоможу", "", False),
        ("Вітаю.+допоможу", "s", True),
        (r"допоможу\.$", "", False),
        (r"допоможу\.\s*$", "", True),
        ("так", "gi", True),
        ("Так", "u", True),
    ],
)
def test_anchors_dot_and_flags_are_javascripts(pattern: str, flags: str, *, matches: bool) -> None:
    assert found(pattern, "Вітаю!\r\nТак, допоможу.\n", flags) is matches


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "matches"),
    [
        (r"(?<рік>\d{4})", "", "у 2026 році", True),
        (r"^\p{L}+$", "u", "їжак", True),
        (r"\p{L}", "", "p{L}", True),
        (r"\bпривіт\b", "i", "Привіт!", False),
        ("РАМОСУ", "i", "рамосу", True),
        ("Ї", "i", "ї", True),
        (r"^\s$", "", "\ufeff", True),
        ("[^]", "", "\n", True),
        (r"\u{1F600}", "u", "😀", True),
        ("^.$", "", "😀", False),
        ("^.$", "u", "😀", True),
        ("x{,3}", "", "x{,3}", True),
        (r"\A", "", "A", True),
        (r"(?<=a\s*)b", "", "a  b", True),
        (r"^(?:(a)|b)\1$", "", "b", True),
        ("b", "y", "ab", False),
        ("K", "", "\u212a", True),  # the Kelvin sign is K in NFC
        (r"[\p{L}--[а-я]]", "v", "ж", False),
        ("i", "i", "İ", False),
    ],
)
def test_constructs_mean_what_javascript_means(pattern: str, flags: str, text: str, *, matches: bool) -> None:
    assert found(pattern, text, flags) is matches


def test_text_and_pattern_meet_in_nfc() -> None:
    assert found("їжак", unicodedata.normalize("NFD", "їжак"))
    assert found(unicodedata.normalize("NFD", "їжак"), "їжак")


def test_a_match_is_placed_in_characters_not_in_code_units() -> None:
    assert REGEX.search("так", "", "😀😀 так") == RegexFound(3, "так")
    assert REGEX.search("😀+", "u", "а😀😀б") == RegexFound(1, "😀😀")
    assert REGEX.search("", "", "текст") == RegexFound(0, "")


def test_lone_surrogates_and_nul_do_not_break_the_engine() -> None:
    assert found("\ufffdб", "а\ud800б")
    assert found("б", "а\x00б")
    assert found("\ud800", "а\ud800б")


def test_too_much_time_ends_in_a_limit_and_leaves_the_engine_usable() -> None:
    for pattern, text in (("(a+)+$", "a" * 30 + "!"), (r"^(\w+\s?)+$", "a" * 60 + "!")):
        assert isinstance(REGEX.search(pattern, "", text), RegexLimit)
        assert found("a", "a")


def test_an_invalid_pattern_is_an_answer() -> None:
    assert isinstance(REGEX.search("(", "", "a"), RegexInvalid)
    assert isinstance(REGEX.search("a", "x", "a"), RegexInvalid)


@pytest.mark.parametrize("flags", ["", "g", "y", "gy"])
def test_a_pattern_asked_again_starts_from_the_beginning(flags: str) -> None:
    engine = QuickJsRegex()
    answers = [engine.search("ab", flags, text) for text in ("ab", "ab", "xy", "ab")]
    assert [type(answer) for answer in answers] == [RegexFound, RegexFound, RegexMissing, RegexFound]


def test_the_same_pattern_with_other_flags_is_another_one() -> None:
    engine = QuickJsRegex()
    assert isinstance(engine.search("A", "i", "a"), RegexFound)
    assert isinstance(engine.search("A", "", "a"), RegexMissing)


def test_many_patterns_leave_the_engine_working() -> None:
    engine = QuickJsRegex()
    heavy = r"\p{L}" * 200
    assert all(isinstance(engine.search(f"{heavy}{n}", "iu", "a"), RegexMissing) for n in range(40))
    assert engine.problem(f"{heavy}!", "iu") is None


def test_every_thread_may_ask() -> None:
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda n: REGEX.search("a+", "", "b" * n + "a"), range(20)))
    assert [answer.start for answer in answers if isinstance(answer, RegexFound)] == list(range(20))


@pytest.mark.parametrize("flags", ["", "g", "gi", "u", "v", "dgimsuy"])
def test_known_flags_are_accepted(flags: str) -> None:
    assert REGEX.problem("a", flags) is None


@pytest.mark.parametrize(
    ("flags", "says"), [("x", "unknown flag"), ("ii", "given twice"), ("uv", "together")]
)
def test_flags_are_refused_with_a_reason(flags: str, says: str) -> None:
    assert says in str(REGEX.problem("a", flags))


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("[а-яіїєґ]+(", 10),
        ("а(?i)б", 2),
        ("(?P<n>a)", 1),
        ("a++", 2),
        ("x[ab", 1),
        ("abc)", 3),
        ("ab\\", 2),
        ("*a", 0),
    ],
)
def test_a_refused_pattern_names_the_position_of_its_fault(pattern: str, position: int) -> None:
    assert f"at position {position} " in str(REGEX.problem(pattern))


@pytest.mark.parametrize("pattern", [r"(?<рік>\d{4})", r"\p{L}+", "а|б", "/cart/", r"\/path\/i"])
def test_javascript_patterns_are_accepted(pattern: str) -> None:
    assert REGEX.problem(pattern) is None


def test_pasted_slashes_are_called_out() -> None:
    reason = str(REGEX.problem("/RAMOSU/i"))
    assert '"RAMOSU"' in reason
    assert '"i"' in reason
    assert "slashes" in reason


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_pattern_and_no_text_break_the_engine(pattern: str, text: str) -> None:
    assert isinstance(REGEX.search(pattern, "", text), RegexFound | RegexMissing | RegexInvalid | RegexLimit)
    compiles = not isinstance(REGEX.search(pattern, "", ""), RegexInvalid)
    assert compiles or REGEX.problem(pattern) is not None
