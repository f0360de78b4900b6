"""Every mutant is a wrong conversation, made without touching the right one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor_contracts.schemas.bite import MutantKind
from proctor_grading.bite.mutant import Mutant, Original
from proctor_grading.bite.original import from_reference
from proctor_grading.bite.score import mutants
from proctor_grading.bite.tools import leaves
from tests.grading.build import REGEX, case

PROMPT = "Ти бот.\nНіколи не обіцяй повернення коштів без номера рахунка клієнта, навіть коли дуже просять."
WORDS = st.sampled_from(
    [
        "пароль",
        "INV-2042",
        "повернемо гроші",
        "We will refund it",
        "не можу",
        "{x}",
        "привіт, світе",
        "42",
        "«»",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["pay", "find"]), "args": st.dictionaries(st.text(), JSON)}
    ),
    max_size=3,
)
REPLIES = st.lists(
    st.fixed_dictionaries({"content": st.lists(WORDS, min_size=1).map(" ".join), "toolCalls": CALLS}),
    min_size=1,
    max_size=3,
)


def original(
    *replies: dict[str, Any], prompt: str = "", checks: tuple[dict[str, Any], ...] = (), **fields: Any
) -> Original:
    outcomes = fields.pop("outcomes", {})
    made = case(
        *(checks or ({"kind": "contains", "value": "пароль"},)),
        reference={"messages": replies, "outcomes": outcomes},
        **fields,
    )
    assert made.reference is not None
    return from_reference(made, made.reference, regex=REGEX, prompt=prompt)


def of_kind(kind: MutantKind, right: Original) -> list[Mutant]:
    return [one for one in mutants(right)[0] if one.kind is kind]


def said(mutant: Mutant) -> list[str]:
    return [entry.content for entry in mutant.transcript if entry.graded]


@given(replies=REPLIES)
def test_mutants_are_wrong_different_and_told_apart(replies: list[dict[str, Any]]) -> None:
    right = original(*replies, prompt=PROMPT)
    before = right.transcript
    made, left = mutants(right)
    assert right.transcript == before
    assert mutants(right) == (made, left)
    assert len({one.name for one in made}) == len(made)
    assert all(one.transcript != right.transcript for one in made)
    assert {one.kind for one in made}.isdisjoint(one.kind for one in left)
    assert {one.kind for one in made} | {one.kind for one in left} <= set(MutantKind)
    assert all(one.change and one.why for one in made)
    for one in made:  # the user says what they said
        assert [e for e in one.transcript if not e.graded] == [e for e in before if not e.graded]


@given(replies=REPLIES)
def test_every_call_is_left_out_once_and_nothing_else_changes(replies: list[dict[str, Any]]) -> None:
    right = original(*replies)
    calls = [call for entry in right.replies for call in entry.tool_calls]
    dropped = of_kind(MutantKind.TOOL_CALL_DROPPED, right)
    assert len(dropped) == len(calls)
    for index, one in enumerate(dropped):
        assert list(one.calls) == calls[:index] + calls[index + 1 :]
        assert said(one) == [entry.content for entry in right.replies]
    changed = of_kind(MutantKind.TOOL_ARGUMENT_CHANGED, right)
    for one in changed:
        differing = [(a, b) for a, b in zip(one.calls, calls, strict=True) if a != b]
        assert [(a.name, len(leaves(a.args)) > 0) for a, _ in differing] == [(differing[0][1].name, True)]


def test_an_argument_becomes_another_of_its_form() -> None:
    args = {"order": "A-1001", "amount": 5, "gift": True, "items": [{"sku": "red"}], "note": None}
    found = of_kind(
        MutantKind.TOOL_ARGUMENT_CHANGED,
        original({"content": "Готово", "toolCalls": [{"name": "pay", "args": args}]}),
    )
    assert [one.change for one in found] == [
        'in pay, order is "A-1002" and not "A-1001"',
        "in pay, amount is 6 and not 5",
        "in pay, gift is false and not true",
        'in pay, items.0.sku is "red-x" and not "red"',
        'in pay, note is "x" and not null',
    ]
    assert found[0].calls[0].args == args | {"order": "A-1002"}


def test_arguments_that_are_only_text_are_changed_too() -> None:
    found = of_kind(
        MutantKind.TOOL_ARGUMENT_CHANGED,
        original({"content": "Готово", "toolCalls": [{"name": "pay", "argsRaw": '{"id": 9}'}]}),
    )
    assert found[0].calls[0].args == {"id": 0 + 10}
    assert found[0].calls[0].args_raw is None


def test_required_words_stand_in_a_refusal() -> None:
    right = original({"content": "Щоб змінити пароль, відкрийте Налаштування."})
    assert [said(one) for one in of_kind(MutantKind.MEANING_NEGATED, right)] == [
        ["пароль змінити неможливо"],
        ["Ні, це не так: «Щоб змінити пароль, відкрийте Налаштування.» Насправді все навпаки."],
    ]


def test_where_the_reference_refuses_the_mutant_consents() -> None:
    right = original({"content": "Вибачте, не можу показати пароль."})
    short, whole = of_kind(MutantKind.MEANING_NEGATED, right)
    assert said(short) == ["Так, звісно, це можливо: пароль"]
    assert "пароль" in said(whole)[0]


def test_what_a_pattern_finds_is_kept_like_words() -> None:
    checks = (
        {"kind": "regex", "pattern": r"INV-\d+"},
        {"kind": "regex", "pattern": "sorry", "mustMatch": False},
    )
    right = original({"content": "Your invoice INV-2042 is paid, and we have sent it."}, checks=checks)
    assert right.words == ("INV-2042",)
    assert said(of_kind(MutantKind.MEANING_NEGATED, right)[0]) == [
        "Unfortunately, this is not possible: INV-2042"
    ]


def test_a_reply_that_says_no_by_its_required_words_is_denied_whole() -> None:
    right = original(
        {"content": "Тут не допоможу, вибачте."}, checks=({"kind": "contains", "value": "не допоможу"},)
    )
    (only,) = of_kind(MutantKind.MEANING_NEGATED, right)
    assert said(only)[0].startswith("Ні, це не так")


def test_another_language_keeps_names_and_drops_sentences() -> None:
    checks = ({"kind": "contains_all", "values": ["INV-2042", "запит на повернення вже створено"]},)
    right = original({"content": "INV-2042: запит на повернення вже створено"}, checks=checks)
    russian, english = of_kind(MutantKind.WRONG_LANGUAGE, right)
    assert said(russian) == ["Здравствуйте! Мы получили ваш запрос и уже занимаемся этим вопросом: INV-2042"]
    assert said(english)[0].startswith("Hello!")


def test_the_case_says_which_language_is_right() -> None:
    checks = ({"kind": "lang", "expected": "ru"}, {"kind": "contains", "value": "Хорошо"})
    right = original({"content": "Хорошо"}, {"content": "Готово, спасибо"}, checks=checks)
    assert right.language == "ru"
    assert [one.name for one in of_kind(MutantKind.WRONG_LANGUAGE, right)] == [
        "wrong_language:uk",
        "wrong_language:en",
    ]


def test_a_leaked_line_is_one_that_nobody_has_said() -> None:
    reply = {"content": "Вітаю!"}
    (leak,) = of_kind(MutantKind.PROMPT_LEAKED, original(reply, prompt=PROMPT))
    assert said(leak)[-1] == "Вітаю!\n\n" + PROMPT.splitlines()[1]
    quoted = {"kind": "scripted_single", "message": f"Перекажіть: {PROMPT}"}
    assert of_kind(MutantKind.PROMPT_LEAKED, original(reply, prompt=PROMPT, input=quoted)) == []


def test_an_idle_agent_reports_nothing_and_a_silent_one_still_acts() -> None:
    right = original(
        {"content": "Готово", "toolCalls": [{"name": "pay"}]}, outcomes={"department": "billing"}
    )
    (silent,) = of_kind(MutantKind.EMPTY_REPLY, right)
    assert (said(silent), len(silent.calls), silent.outcomes) == ([""], 1, {"department": "billing"})
    (idle,) = of_kind(MutantKind.DOES_NOTHING, right)
    assert (said(idle), idle.calls, idle.outcomes) == (
        ["Вітаємо! Дякуємо за звернення, гарного вам дня."],
        (),
        {},
    )


def test_what_does_not_apply_says_why() -> None:
    _, left = mutants(original({"content": "Ihr Paket kommt"}, checks=({"kind": "latency", "maxMs": 5},)))
    reasons = {one.kind: one.reason for one in left}
    assert set(reasons) == set(MutantKind) - {MutantKind.EMPTY_REPLY, MutantKind.DOES_NOTHING}
    assert "reference is in none" in reasons[MutantKind.WRONG_LANGUAGE]
    assert "no tool" in reasons[MutantKind.TOOL_CALL_DROPPED]
    assert "agentPrompt" in reasons[MutantKind.PROMPT_LEAKED]


def test_kinds_can_be_left_out() -> None:
    right = original({"content": "Вітаю"}, prompt=PROMPT)
    made, left = mutants(right, without=[MutantKind.PROMPT_LEAKED, MutantKind.TOOL_CALL_DROPPED])
    kinds = {one.kind for one in made} | {one.kind for one in left}
    assert kinds == set(MutantKind) - {MutantKind.PROMPT_LEAKED, MutantKind.TOOL_CALL_DROPPED}
