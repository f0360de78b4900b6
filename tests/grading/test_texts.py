from __future__ import annotations

import unicodedata

import pytest

from proctor_contracts.results import Verdict
from proctor_contracts.transcript import SCRIPTED
from proctor_grading.engine import grade
from tests.grading.build import agent, assertion, check, context, holds, user

BUBBLES = (user(), agent("Вітаю!"), agent("Чим допомогти?"), user(), agent("Передаю менеджеру."))
SCOPES = ("any_agent_msg", "all_agent_msgs", "first_agent_msg", "last_agent_msg")


def test_contains_matches_decomposed_text_and_no_break_spaces() -> None:
    decomposed = unicodedata.normalize("NFD", "Ось їжак й ґава")
    assert holds(assertion("contains", value="їжак"), decomposed)
    assert not holds(assertion("not_contains", value="їжак"), decomposed)
    assert holds(assertion("contains", value="10 000 грн"), "Ціна 10\u00a0000 грн")
    assert not holds(assertion("contains", value="8.540"), "9.540")
    assert holds(assertion("contains", value="так\nні"), "так\r\nні")


@pytest.mark.parametrize("hidden", ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u200e", "\U000e0041"])
def test_what_nobody_sees_hides_no_word_and_makes_no_message(hidden: str) -> None:
    text = f"Це Рамо{hidden}су"
    assert holds(assertion("contains", value="Рамосу"), text)
    assert not holds(assertion("not_contains", value="Рамосу"), text)
    assert holds(assertion("contains", value=f"Ра{hidden}мосу"), "Рамосу")
    for wanted in (
        assertion("not_contains", value="щось"),
        assertion("regex", pattern="щось", mustMatch=False),
        assertion("contains", value=hidden),
    ):
        assert check(wanted, hidden * 3 + " \n").code == "no_agent_message"


@pytest.mark.parametrize("kind", ["contains", "contains_all", "contains_any"])
def test_what_nobody_sees_can_itself_be_looked_for(kind: str) -> None:
    fields = {"value": "\u200b"} if kind == "contains" else {"values": ["\u200b"]}
    assert holds(assertion(kind, **fields), "а\u200bб")
    assert not holds(assertion(kind, **fields), "аб")
    assert holds(assertion("not_contains", value="\u200b"), "аб")
    assert not holds(assertion("not_contains", value="\u200b"), "а\u200bб")


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        ("STRASSE", "Straße", True),
        ("istanbul", "İSTANBUL", True),
        ("ОБСЯГ", "обсяг", True),
        ("ΟΔΌΣ", "οδός", True),
        ("i", "ı", False),
    ],
)
def test_letter_case_is_folded_alike_in_both_polarities(value: str, text: str, *, found: bool) -> None:
    assert holds(assertion("contains", value=value, caseInsensitive=True), text) is found
    assert holds(assertion("not_contains", value=value, caseInsensitive=True), text) is not found
    assert not holds(assertion("contains", value="RAMOSU"), "ramosu")


@pytest.mark.parametrize(("scope", "passes"), list(zip(SCOPES, (True, False, False, False), strict=True)))
def test_contains_over_bubbles_by_scope(scope: str, *, passes: bool) -> None:
    assert holds(assertion("contains", value="Чим допомогти?", scope=scope), *BUBBLES) is passes


@pytest.mark.parametrize(("scope", "passes"), list(zip(SCOPES, (False, False, True, False), strict=True)))
def test_not_contains_over_bubbles_by_scope(scope: str, *, passes: bool) -> None:
    assert holds(assertion("not_contains", value="менеджер", scope=scope), *BUBBLES) is passes
    assert holds(assertion("regex", pattern="менеджер", mustMatch=False, scope=scope), *BUBBLES) is passes


@pytest.mark.parametrize(
    ("pattern", "scope", "passes"),
    [
        ("допомогти", "any_agent_msg", True),
        ("допомогти", "all_agent_msgs", False),
        ("[а-яїієґ]", "all_agent_msgs", True),
        ("Вітаю", "first_agent_msg", True),
        ("менеджер", "last_agent_msg", True),
    ],
)
def test_regex_must_match_by_scope(pattern: str, scope: str, *, passes: bool) -> None:
    assert holds(assertion("regex", pattern=pattern, scope=scope), *BUBBLES) is passes


def test_contains_all_wants_one_message_with_everything() -> None:
    wanted = assertion("contains_all", values=["Київ", "Львів"])
    assert holds(wanted, "Київ і Львів")
    assert not holds(wanted, "Київ", "Львів")
    assert not holds(assertion("contains_all", values=["Київ"], scope="all_agent_msgs"), "Київ", "Львів")


def test_contains_any_wants_one_of_them() -> None:
    wanted = {"values": ["Київ", "Львів"]}
    assert holds(assertion("contains_any", **wanted), "Одеса", "Львів")
    assert not holds(assertion("contains_any", **wanted), "Одеса")
    assert not holds(assertion("contains_any", **wanted, scope="all_agent_msgs"), "Одеса", "Львів")
    assert holds(assertion("contains_any", **wanted, scope="all_agent_msgs"), "Київ", "Львів")


@pytest.mark.parametrize("entries", [(), (user(),), (user(), agent("")), (user(), agent(" \n"))])
@pytest.mark.parametrize(
    "wanted",
    [
        assertion("contains", value="так"),
        assertion("not_contains", value="ні"),
        assertion("contains_all", values=["так"]),
        assertion("contains_any", values=["так"]),
        assertion("regex", pattern="ні", mustMatch=False),
        assertion("lang", expected="uk"),
        assertion("tool_call", toolName="delete.user", mustNotMatch=True),
        assertion("tool_call", toolName="x", minOccurrence=0),
        assertion("json_schema", schema=True),
        assertion("no_prompt_leak"),
        assertion("grounded_facts"),
        assertion("latency", maxMs=10),
        assertion("cost", maxCents=1),
    ],
)
def test_silence_never_passes(wanted: object, entries: tuple[object, ...]) -> None:
    found = check(wanted, *entries)  # type: ignore[arg-type]  # both come from the parameters above
    assert (found.verdict, found.code) == (Verdict.FAILED, "no_agent_message")


def test_silence_in_the_turn_that_a_scope_reads_is_seen() -> None:
    late = (user(), agent(""), user(), agent("Вітаю"))
    early = (user(), agent("Вітаю"), user(), agent(" "))
    assert (
        check(assertion("contains", value="Вітаю", scope="first_agent_msg"), *late).code == "no_agent_message"
    )
    assert (
        check(assertion("contains", value="Вітаю", scope="last_agent_msg"), *early).code == "no_agent_message"
    )
    assert holds(assertion("contains", value="Вітаю"), *late)


def test_words_put_into_the_agents_mouth_are_not_graded() -> None:
    entries = (user(), agent("Рамосу", finish=SCRIPTED), user(), agent("RAMOSU"))
    assert holds(assertion("not_contains", value="Рамосу"), *entries)
    assert holds(assertion("contains", value="RAMOSU", scope="first_agent_msg"), *entries)
    assert holds(assertion("contains", value="RAMOSU", scope="all_agent_msgs"), *entries)


def test_what_the_user_says_is_not_the_agents() -> None:
    assert not holds(assertion("contains", value="таємниця"), user("таємниця"), agent("Не скажу"))


def test_a_failure_explains_itself() -> None:
    found = check(assertion("not_contains", value="обсяг", ref="slang"), "Добре", "а" * 500 + " Обсяг обсяг")
    assert found.code == "forbidden_text"
    assert found.ref == "slang"
    assert found.passed is False
    assert found.expected is not None
    assert "обсяг" in found.expected
    assert found.where is not None
    assert found.where.entry == 3
    assert found.seen is not None
    assert "обсяг" in found.seen
    assert len(found.seen) <= 300


def test_a_regex_failure_shows_the_match() -> None:
    found = check(assertion("regex", pattern="[Рр]амосу", mustMatch=False), "😀 Ми — Рамосу.")
    assert found.code == "forbidden_pattern"
    assert '"Рамосу"' in found.message


@pytest.mark.parametrize("must_match", [True, False])
def test_a_stored_pattern_that_does_not_compile_is_unresolved(*, must_match: bool) -> None:
    found = check(assertion("regex", pattern="[а-я]+(", mustMatch=must_match), "текст")
    assert (found.verdict, found.code, found.passed) == (Verdict.UNRESOLVED, "invalid_pattern", None)


@pytest.mark.parametrize("must_match", [True, False])
def test_catastrophic_backtracking_is_unresolved(*, must_match: bool) -> None:
    found = check(assertion("regex", pattern="(a+)+$", mustMatch=must_match), "a" * 30 + "!")
    assert (found.verdict, found.code) == (Verdict.UNRESOLVED, "regex_timeout")


def test_an_answer_too_long_to_search_is_not_called_clean() -> None:
    long = "а" * 100_001
    assert check(assertion("regex", pattern="б", mustMatch=False), long).code == "text_too_long"
    assert holds(assertion("regex", pattern="^а"), long)
    absent = [assertion("regex", pattern="б", mustMatch=False)] * 5
    assert {one.code for one in grade(absent, (user(), agent(long)), context())} == {"text_too_long"}


def test_a_global_pattern_keeps_no_position_between_messages() -> None:
    wanted = assertion("regex", pattern="так", flags="gi", scope="all_agent_msgs")
    assert holds(wanted, "так", "Так", "ТАК")
